/** Ed25519 (RFC 8032): signatures, and which public keys may be enrolled (9.6). Exact integers, nothing secret. */
import { compare, equal } from "./bytes.js";
import { sha512 } from "./digests.js";

const P = 2n ** 255n - 19n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const mod = (x) => ((x % P) + P) % P;

function power(base, exponent) {
  let result = 1n;
  for (let b = mod(base), e = exponent; e > 0n; e >>= 1n, b = mod(b * b)) if (e & 1n) result = mod(result * b);
  return result;
}

const inverse = (x) => power(x, P - 2n);
const D = mod(-121665n * inverse(121666n));
const SQRT_MINUS_1 = power(2n, (P - 1n) / 4n);

const number = (bytes) => bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

/** Points are `[X, Y, Z, T]`, with `x = X/Z`, `y = Y/Z` and `xy = T/Z` (RFC 8032, 5.1.4). */
const NEUTRAL = [0n, 1n, 1n, 0n];

/** The point that 32 bytes encode (RFC 8032, 5.1.3), or null where they are no canonical encoding of one. */
function point(bytes) {
  if (bytes.length !== 32) return null;
  const encoded = number(bytes);
  const [sign, y] = [encoded >> 255n, encoded & (2n ** 255n - 1n)];
  if (y >= P) return null;
  const square = mod((y * y - 1n) * inverse(D * y * y + 1n));
  let x = power(square, (P + 3n) / 8n);
  if (mod(x * x) !== square) x = mod(x * SQRT_MINUS_1);
  if (mod(x * x) !== square || (x === 0n && sign === 1n)) return null;
  if ((x & 1n) !== sign) x = P - x;
  return [x, y, 1n, mod(x * y)];
}

function add([x1, y1, z1, t1], [x2, y2, z2, t2]) {
  const a = mod((y1 - x1) * (y2 - x2));
  const b = mod((y1 + x1) * (y2 + x2));
  const c = mod(2n * D * t1 * t2);
  const d = mod(2n * z1 * z2);
  const [e, f, g, h] = [b - a, d - c, d + c, b + a];
  return [mod(e * f), mod(g * h), mod(f * g), mod(e * h)];
}

function multiple(scalar, of) {
  let result = NEUTRAL;
  for (let s = scalar, p = of; s > 0n; s >>= 1n, p = add(p, p)) if (s & 1n) result = add(result, p);
  return result;
}

const littleEndian = (value) => Uint8Array.from({ length: 32 }, (_, i) => Number((value >> BigInt(8 * i)) & 255n));

function encoded([x, y, z]) {
  const scale = inverse(z);
  return littleEndian(mod(y * scale) | ((mod(x * scale) & 1n) << 255n));
}

const BASE = point(littleEndian(mod(4n * inverse(5n))));

/** Whether a key is the canonical encoding of a point whose order is not 1, 2, 4 or 8. */
export function isSuitable(bytes) {
  const a = point(bytes);
  return a !== null && compare(encoded(multiple(8n, a)), encoded(NEUTRAL)) !== 0;
}

/** Whether a signature of a message by a key holds. */
export function isSigned(key, message, signature) {
  const [a, r, s] = [point(key), signature.subarray(0, 32), number(signature.subarray(32))];
  if (!a || signature.length !== 64 || s >= ORDER) return false;
  const k = number(sha512(r, key, message)) % ORDER;
  const [x, y, z, t] = a;
  return equal(encoded(add(multiple(s, BASE), multiple(k, [mod(-x), y, z, mod(-t)]))), r);
}

/** The public key of a seed of 32 bytes. */
export function publicKeyOf(seed) {
  const secret = number(sha512(seed).subarray(0, 32));
  return encoded(multiple((secret & (2n ** 254n - 8n)) | 2n ** 254n, BASE));
}
