/** 4.1 Canonical encoding: MessagePack in one form only. */
import { compare, equal, joined, utf8 } from "./bytes.js";
import { DOCUMENTS } from "./numbers.js";
import { Refusal } from "./refusal.js";

export const MAX_BYTES = DOCUMENTS.bytes;
const MAX_DEPTH = DOCUMENTS.depth;
const MIN_INTEGER = -(2n ** 63n);
const MAX_INTEGER = 2n ** 64n - 1n;

const refuse = (why) => {
  throw new Refusal("non-canonical", why);
};

/** The canonical encoding of nil, booleans, integers (also bigint), strings, byte strings, arrays and objects. */
export function encode(value) {
  const parts = [];
  write(value, 0, parts);
  return joined(parts);
}

/** The value of canonical bytes. Maps have no prototype; integers outside the safe ones are bigint. */
export function decode(bytes, maxBytes = MAX_BYTES) {
  if (bytes.length > maxBytes) refuse(`more than ${maxBytes} bytes`);
  const reader = new Reader(bytes);
  const value = reader.value(0);
  // The one rule: written again it must give the same bytes.
  if (!equal(encode(value), bytes)) refuse("not the one encoding of its value");
  return value;
}

function write(value, depth, parts) {
  if (value === null) parts.push(Uint8Array.of(0xc0));
  else if (typeof value === "boolean") parts.push(Uint8Array.of(value ? 0xc3 : 0xc2));
  else if (typeof value === "number" || typeof value === "bigint") parts.push(integer(value));
  else if (typeof value === "string") {
    if (!value.isWellFormed()) refuse("a string that is no Unicode text");
    const text = utf8(value);
    parts.push(head(text.length, [0xa0, 32], 0xd9, 0xda, 0xdb), text);
  } else if (value instanceof Uint8Array) parts.push(head(value.length, null, 0xc4, 0xc5, 0xc6), value);
  else if (typeof value === "object") {
    if (depth === MAX_DEPTH) refuse(`nested more than ${MAX_DEPTH} deep`);
    if (Array.isArray(value)) {
      parts.push(head(value.length, [0x90, 16], null, 0xdc, 0xdd));
      for (const item of value) write(item, depth + 1, parts);
    } else {
      const keys = Object.keys(value).sort((a, b) => compare(utf8(a), utf8(b)));
      parts.push(head(keys.length, [0x80, 16], null, 0xde, 0xdf));
      for (const key of keys) {
        write(key, depth + 1, parts);
        write(value[key], depth + 1, parts);
      }
    }
  } else refuse(`a ${typeof value} has no encoding`);
}

/** The first bytes of a string, byte string, array or map of some length. */
function head(length, fix, one, two, four) {
  if (fix && length < fix[1]) return Uint8Array.of(fix[0] | length);
  if (one !== null && length < 2 ** 8) return Uint8Array.of(one, length);
  const size = length < 2 ** 16 ? 2 : 4;
  const bytes = new Uint8Array(1 + size);
  bytes[0] = size === 2 ? two : four;
  for (let i = 0; i < size; i++) bytes[size - i] = length >>> (8 * i);
  return bytes;
}

function integer(number) {
  if (typeof number === "number" && !Number.isSafeInteger(number)) refuse("not an integer");
  const n = BigInt(number);
  if (n < MIN_INTEGER || n > MAX_INTEGER) refuse("an integer out of range");
  if (n >= -32n && n < 128n) return Uint8Array.of(Number(n) & 0xff);
  const negative = n < 0n;
  const size = [1, 2, 4, 8].find((s) => (negative ? n >= -(2n ** BigInt(8 * s - 1)) : n < 2n ** BigInt(8 * s)));
  const bytes = new Uint8Array(1 + size);
  bytes[0] = (negative ? 0xd0 : 0xcc) + Math.log2(size);
  for (let i = 0, rest = BigInt.asUintN(64, n); i < size; i++, rest >>= 8n) bytes[size - i] = Number(rest & 0xffn);
  return bytes;
}

/** Reads any MessagePack of the allowed types; whether the form is the canonical one is not its business. */
class Reader {
  constructor(bytes) {
    this.bytes = Uint8Array.from(bytes);
    this.at = 0;
  }

  take(count) {
    if (count > this.bytes.length - this.at) refuse("truncated");
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }

  unsigned(size) {
    const value = this.take(size).reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
    return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
  }

  signed(size) {
    const value = BigInt.asIntN(8 * size, BigInt(this.unsigned(size)));
    return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
  }

  value(depth) {
    const first = this.take(1)[0];
    if (first < 0x80) return first;
    if (first < 0x90) return this.map(first & 0x0f, depth);
    if (first < 0xa0) return this.array(first & 0x0f, depth);
    if (first < 0xc0) return this.string(first & 0x1f);
    if (first >= 0xe0) return first - 256;
    switch (first) {
      case 0xc0: return null;
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xc4: return this.take(this.unsigned(1)).slice();
      case 0xc5: return this.take(this.unsigned(2)).slice();
      case 0xc6: return this.take(this.unsigned(4)).slice();
      case 0xcc: case 0xcd: case 0xce: case 0xcf: return this.unsigned(1 << (first - 0xcc));
      case 0xd0: case 0xd1: case 0xd2: case 0xd3: return this.signed(1 << (first - 0xd0));
      case 0xd9: return this.string(this.unsigned(1));
      case 0xda: return this.string(this.unsigned(2));
      case 0xdb: return this.string(this.unsigned(4));
      case 0xdc: return this.array(this.unsigned(2), depth);
      case 0xdd: return this.array(this.unsigned(4), depth);
      case 0xde: return this.map(this.unsigned(2), depth);
      case 0xdf: return this.map(this.unsigned(4), depth);
      default: return refuse("a float, an extension or no type at all");
    }
  }

  string(length) {
    try {
      // Kept as it is: a mark U+FEFF at the front is a character like any other.
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(this.take(length));
    } catch (error) {
      if (error instanceof Refusal) throw error;
      return refuse("a string that is no UTF-8");
    }
  }

  array(length, depth) {
    if (depth === MAX_DEPTH) refuse(`nested more than ${MAX_DEPTH} deep`);
    if (length > this.bytes.length - this.at) refuse("truncated");
    return Array.from({ length }, () => this.value(depth + 1));
  }

  map(length, depth) {
    if (depth === MAX_DEPTH) refuse(`nested more than ${MAX_DEPTH} deep`);
    if (length > this.bytes.length - this.at) refuse("truncated");
    const map = Object.create(null);
    for (let i = 0; i < length; i++) {
      const key = this.value(depth + 1);
      if (typeof key !== "string") refuse("a key that is no string");
      map[key] = this.value(depth + 1);
    }
    return map;
  }
}
