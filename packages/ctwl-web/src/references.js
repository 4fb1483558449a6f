/** The characters that HTML has by name or by number. */
import { ENTITIES } from "./entities.js";

const REFERENCE = /&(#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)/g;
/** What Windows-1252 has at 0x80 to 0x9f. */
const WINDOWS =
  "\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f" +
  "\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178";

/** Text with the characters that HTML's references stand for. */
export const unescape = (text) => text.replace(REFERENCE, (whole, name) => (name[0] === "#" ? numbered(name) : named(name) ?? whole));

function numbered(name) {
  const number = /^#[xX]/.test(name) ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
  if (number === 0 || (number >= 0xd800 && number <= 0xdfff) || number > 0x10ffff) return "\ufffd";
  if (number === 0x0d) return "\r";
  if (number >= 0x80 && number <= 0x9f) return WINDOWS[number - 0x80];
  const invalid =
    (number >= 1 && number <= 8) || number === 0x0b || (number >= 0x0e && number <= 0x1f) || number === 0x7f ||
    (number >= 0xfdd0 && number <= 0xfdef) || (number & 0xfffe) === 0xfffe;
  return invalid ? "" : String.fromCodePoint(number);
}

function named(name) {
  for (let length = name.length; length > 1; length--) {
    const known = name.slice(0, length);
    if (Object.hasOwn(ENTITIES, known)) return ENTITIES[known] + name.slice(length);
  }
  return null;
}
