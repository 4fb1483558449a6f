/** Kinds of characters, as Python's patterns have them. */

/** White space, inside of brackets. JavaScript's own class has U+FEFF, and lacks some. */
const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
export const [BLANK, SOLID] = [`[${SPACE}]`, `[^${SPACE}]`];
/** A letter or a digit. */
export const LETTER = "[\\p{L}\\p{N}]";
/** A letter, and not a digit. */
export const ALPHA = `(?!\\p{Nd})${LETTER}`;

const WORDS = new RegExp(`${SOLID}+`, "g");

/** The words of a text, apart. */
export const wordsApart = (text) => text.match(WORDS) ?? [];

/** How many characters a text has. */
export function size(text) {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
