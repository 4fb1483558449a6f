/** Byte strings (section 3): little-endian words, text constants, HMAC, HKDF. */
import { sha256 } from "./digests.js";

export { sha256 };

const ENCODER = new TextEncoder();

export const ascii = (text) => Uint8Array.from(text, (character) => character.charCodeAt(0));
export const utf8 = (text) => ENCODER.encode(text);

/** Byte strings one behind the other. */
export const concat = (...parts) => joined(parts);

/** The same of an array, which may have any length: arguments are few. */
export function joined(parts) {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Negative, zero or positive as one byte string goes before another. */
export function compare(a, b) {
  const at = a.findIndex((byte, i) => byte !== b[i]);
  return at < 0 || at >= b.length ? a.length - b.length : a[at] - b[at];
}

export const equal = (a, b) => a.length === b.length && compare(a, b) === 0;

export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The bytes that hexadecimal digits write. */
export const unhex = (digits) =>
  Uint8Array.from({ length: digits.length >> 1 }, (_, i) => parseInt(digits.slice(2 * i, 2 * i + 2), 16));

/** The four bytes of each number in turn. */
export function u32(...numbers) {
  const view = new DataView(new ArrayBuffer(4 * numbers.length));
  numbers.forEach((number, i) => view.setUint32(4 * i, number, true));
  return new Uint8Array(view.buffer);
}

export function u64(number) {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(number), true);
  return new Uint8Array(view.buffer);
}

/** The word that begins at a byte. */
export const word = (bytes, at = 0) =>
  (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;

const BLOCK = 64;

export function hmac(key, ...parts) {
  const block = new Uint8Array(BLOCK);
  block.set(key.length > BLOCK ? sha256(key) : key);
  const inner = sha256(block.map((byte) => byte ^ 0x36), ...parts);
  return sha256(block.map((byte) => byte ^ 0x5c), inner);
}

/** HKDF-SHA256 (RFC 5869). */
export function hkdf(key, salt, info, length) {
  const extracted = hmac(salt.length ? salt : new Uint8Array(32), key);
  const blocks = [];
  let block = new Uint8Array(0);
  for (let i = 1; blocks.length * 32 < length; i++) {
    block = hmac(extracted, block, info, Uint8Array.of(i));
    blocks.push(block);
  }
  return concat(...blocks).subarray(0, length);
}
