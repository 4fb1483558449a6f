/** How much of a text there is, and what of it says something. */

/** Words of a text that is not left out silently. */
export const LONG = 25;
/** Words of a line or a string that says something; fewer are a name, a title, a path. */
export const SENTENCE = 8;

/** The words of a text, apart. */
export const wordsApart = (text) => text.split(/\s+/).filter((word) => word !== "");

/** The words of a text; in a script without spaces four characters are one. */
export function sizeOf(text) {
  const characters = /[\u2e80-\u{10ffff}]/u.test(text) ? text.length : 0;
  return Math.max(wordsApart(text).length, Math.floor(characters / 4));
}

/** The sentences between lines of other kinds; none where they are too few to be a text. */
export function prose(lines) {
  const told = lines.filter((line) => sizeOf(line) >= SENTENCE).join("\n");
  return sizeOf(told) >= LONG ? told : "";
}
