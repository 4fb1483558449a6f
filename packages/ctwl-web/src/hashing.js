/** 6 Hash scheme `ctwl-h1`. All numbers are unsigned, of 32 bits, and wrap. */
import { ascii, hmac, u32, word } from "./bytes.js";

export const G = 0x9e3779b1;

/** 6.1 Mixing. */
export function fmix32(x) {
  x ^= x >>> 16;
  x = Math.imul(x, 0x85ebca6b);
  x ^= x >>> 13;
  x = Math.imul(x, 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

/** 6.2 `s(c, a)` of every colour at a context. */
export function permutationSeeds(key, context, colours) {
  const mac = hmac(key, ascii("ctwl-h1/partition"), u32(...context));
  const [p0, p1] = [word(mac), word(mac, 4)];
  return Uint32Array.from({ length: colours }, (_, a) => fmix32(p0 ^ fmix32(p1 + Math.imul(a + 1, G))));
}

/** 6.2 `rank` of a token under a permutation's seed. */
export const rank = (seed, token) => fmix32(seed ^ Math.imul(token, G));

/** 6.3 `t` of a context for a slot of a record. */
export function colourSeed(key, context, layout, slot, nonce) {
  return word(hmac(key, ascii("ctwl-h1/colour"), u32(layout, slot, nonce, ...context)));
}

/** 6.3 `colour(c, m)`: exact, since a word times at most 4096 is far below 2^53. */
export const colour = (seed, code, colours) => Math.floor((fmix32(seed ^ Math.imul(code, G)) * colours) / 2 ** 32);

/** 9.4 `word` of the last tokens before a position. */
export const slotWord = (key, tail) => word(hmac(key, ascii("ctwl-h1/slot"), u32(...tail)));
