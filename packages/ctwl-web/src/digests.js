/** SHA-256 and SHA-512 (FIPS 180-4), at once: a browser's own answer later, and only on pages from secure places. */

const MASK = 2n ** 64n - 1n;

const PRIMES = (() => {
  const found = [];
  for (let n = 2; found.length < 80; n++) if (found.every((prime) => n % prime !== 0)) found.push(n);
  return found.map(BigInt);
})();

/** The first 64 bits behind the point of a prime's square or cube root. */
function fraction(prime, degree) {
  const scaled = prime << (64n * degree);
  let [low, high] = [0n, 1n << 74n];
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** degree <= scaled) low = middle;
    else high = middle;
  }
  return low & MASK;
}

const [START, ROUNDS] = [PRIMES.slice(0, 8).map((p) => fraction(p, 2n)), PRIMES.map((p) => fraction(p, 3n))];
const upper = (words) => Int32Array.from(words, (word) => Number(word >> 32n));
const [START_256, ROUNDS_256] = [upper(START), upper(ROUNDS.slice(0, 64))];

/** The message with its padding, in whole blocks. */
function padded(parts, block) {
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const message = new Uint8Array(Math.ceil((size + 1 + block / 8) / block) * block);
  let at = 0;
  for (const part of parts) {
    message.set(part, at);
    at += part.length;
  }
  message[size] = 0x80;
  const view = new DataView(message.buffer);
  view.setBigUint64(message.length - 8, 8n * BigInt(size));
  return view;
}

/** The digest of byte strings, one behind the other: 32 bytes. */
export function sha256(...parts) {
  const message = padded(parts, 64);
  const state = START_256.slice();
  const w = new Int32Array(64);
  for (let block = 0; block < message.byteLength; block += 64) {
    for (let i = 0; i < 16; i++) w[i] = message.getInt32(block + 4 * i);
    for (let i = 16; i < 64; i++) {
      const [x, y] = [w[i - 15], w[i - 2]];
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + ROUNDS_256[i] + w[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] = (state[i] + word) | 0));
  }
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => digest.setInt32(4 * i, word));
  return new Uint8Array(digest.buffer);
}

const right = (x, n) => (x >> n) | ((x << (64n - n)) & MASK);

/** The digest of byte strings, one behind the other: 64 bytes. Slow: the registry's signatures alone need it. */
export function sha512(...parts) {
  const message = padded(parts, 128);
  let state = START;
  const w = new BigUint64Array(80);
  for (let block = 0; block < message.byteLength; block += 128) {
    for (let i = 0; i < 16; i++) w[i] = message.getBigUint64(block + 8 * i);
    for (let i = 16; i < 80; i++) {
      const s0 = right(w[i - 15], 1n) ^ right(w[i - 15], 8n) ^ (w[i - 15] >> 7n);
      const s1 = right(w[i - 2], 19n) ^ right(w[i - 2], 61n) ^ (w[i - 2] >> 6n);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 80; i++) {
      const s1 = right(e, 14n) ^ right(e, 18n) ^ right(e, 41n);
      const t1 = h + s1 + ((e & f) ^ ((e ^ MASK) & g)) + ROUNDS[i] + w[i];
      const t2 = (right(a, 28n) ^ right(a, 34n) ^ right(a, 39n)) + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) & MASK, c, b, a, (t1 + t2) & MASK];
    }
    state = [a, b, c, d, e, f, g, h].map((word, i) => (state[i] + word) & MASK);
  }
  const digest = new DataView(new ArrayBuffer(64));
  state.forEach((word, i) => digest.setBigUint64(8 * i, word));
  return new Uint8Array(digest.buffer);
}
