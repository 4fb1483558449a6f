/** Bytes as a string in which each character is one byte, so that patterns work on them. */

const AT_ONCE = 2 ** 13;

export function toBinary(bytes) {
  const parts = [];
  for (let at = 0; at < bytes.length; at += AT_ONCE) parts.push(String.fromCharCode(...bytes.subarray(at, at + AT_ONCE)));
  return parts.join("");
}

export function fromBinary(text) {
  const found = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) found[i] = text.charCodeAt(i);
  return found;
}
