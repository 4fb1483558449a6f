/** Byte strings (section 3): little-endian words, text constants, HMAC, HKDF, SHA-256. */
import { createHash, createHmac } from "node:crypto";

export const ascii = (text) => Buffer.from(text, "latin1");
export const utf8 = (text) => Buffer.from(text, "utf8");

/** The four bytes of each number in turn. */
export function u32(...numbers) {
  const bytes = Buffer.alloc(4 * numbers.length);
  numbers.forEach((number, i) => bytes.writeUInt32LE(number, 4 * i));
  return bytes;
}

export function u64(number) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(number));
  return bytes;
}

export function sha256(...parts) {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

export function hmac(key, ...parts) {
  const mac = createHmac("sha256", key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

/** HKDF-SHA256 (RFC 5869). By hand: node's own takes at most 1024 bytes of `info`, and 4.5 needs more. */
export function hkdf(key, salt, info, length) {
  const extracted = hmac(salt.length ? salt : Buffer.alloc(32), key);
  const blocks = [];
  let block = Buffer.alloc(0);
  for (let i = 1; blocks.length * 32 < length; i++) {
    block = hmac(extracted, block, info, Buffer.from([i]));
    blocks.push(block);
  }
  return Buffer.concat(blocks).subarray(0, length);
}

/** Whether the string is the UTF-8 of something: no lone surrogates. */
export const wellFormed = (text) => text.isWellFormed();
