/** Ed25519 (RFC 8032): signatures by node:crypto, and which public keys may be enrolled (9.6). */
import { createPrivateKey, createPublicKey, verify } from "node:crypto";

const P = 2n ** 255n - 19n;
const mod = (x) => ((x % P) + P) % P;

function power(base, exponent) {
  let result = 1n;
  for (let b = mod(base), e = exponent; e > 0n; e >>= 1n, b = mod(b * b)) if (e & 1n) result = mod(result * b);
  return result;
}

const inverse = (x) => power(x, P - 2n);
const D = mod(-121665n * inverse(121666n));
const SQRT_MINUS_1 = power(2n, (P - 1n) / 4n);

/** The point that 32 bytes encode (RFC 8032, 5.1.3), or null where they are no canonical encoding of one. */
function point(bytes) {
  if (bytes.length !== 32) return null;
  const number = bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  const [sign, y] = [number >> 255n, number & (2n ** 255n - 1n)];
  if (y >= P) return null;
  const square = mod((y * y - 1n) * inverse(mod(D * y * y + 1n)));
  let x = power(square, (P + 3n) / 8n);
  if (mod(x * x) !== square) x = mod(x * SQRT_MINUS_1);
  if (mod(x * x) !== square || (x === 0n && sign === 1n)) return null;
  return [(x & 1n) === sign ? x : P - x, y];
}

function double([x, y]) {
  const t = mod(D * x * x * y * y);
  return [mod(2n * x * y * inverse(1n + t)), mod((y * y + x * x) * inverse(mod(1n - t)))];
}

/** Whether a key is the canonical encoding of a point whose order is not 1, 2, 4 or 8. */
export function isSuitable(bytes) {
  const a = point(bytes);
  if (!a) return false;
  const [x, y] = double(double(double(a)));
  return !(x === 0n && y === 1n);
}

const PUBLIC = Buffer.from("302a300506032b6570032100", "hex");
const PRIVATE = Buffer.from("302e020100300506032b657004220420", "hex");

/** Whether a signature of a message by a key holds. */
export function isSigned(key, message, signature) {
  try {
    const publicKey = createPublicKey({ key: Buffer.concat([PUBLIC, key]), format: "der", type: "spki" });
    return verify(null, message, publicKey, signature);
  } catch {
    return false;
  }
}

/** The public key of a seed of 32 bytes. */
export function publicKeyOf(seed) {
  const key = createPrivateKey({ key: Buffer.concat([PRIVATE, seed]), format: "der", type: "pkcs8" });
  return createPublicKey(key).export({ format: "der", type: "spki" }).subarray(PUBLIC.length);
}
