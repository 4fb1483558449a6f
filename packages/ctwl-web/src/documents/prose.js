/** How much of a text there is, and what of it says something. */
import { wordsApart } from "../characters.js";
import { fromBase64 } from "./mail.js";

/** Words of a text that is not left out silently. */
export const LONG = 25;
/** Words of a line or a string that says something; fewer are a name, a title, a path. */
export const SENTENCE = 8;

/** The end of a sentence: other long strings are code, or names of styles. */
const SENTENCE_END = /\p{L}\P{L}?[.!?]\P{L}?(?:\s|$)|[\u3002\uff01\uff1f]/u;
const BASE64 = /^[A-Za-z0-9+/]{43,}={0,2}$/;

/** The words of a text; in a script without spaces four characters are one. */
export function sizeOf(text) {
  const characters = /[\u2e80-\u{10ffff}]/u.test(text) ? text.length : 0;
  return Math.max(wordsApart(text).length, Math.floor(characters / 4));
}

/** Whether a string is long, and says something. */
export const isTold = (text) => text.length >= 2 * LONG - 1 && sizeOf(text) >= LONG && SENTENCE_END.test(text);

/** The text that a string is in base64; null of others. */
export function uncoded(string) {
  if (!BASE64.test(string)) return null;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(fromBase64(string));
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}

/** The sentences between lines of other kinds; none where they are too few to be a text. */
export function prose(lines) {
  const told = lines.filter((line) => sizeOf(line) >= SENTENCE).join("\n");
  return sizeOf(told) >= LONG ? told : "";
}

/** The name of the long texts of a list, if one does not stand in what is told. */
export function others(texts, told) {
  const ends = texts.map(endsOf);
  if (ends.length === 0) return [];
  const [wanted, seen] = [new Set(ends.flat()), new Set()];
  for (const words of told()) for (const run of runs(words)) if (wanted.has(run)) seen.add(run);
  return ends.every((both) => both.every((run) => seen.has(run))) ? [] : ["other texts"];
}

/** The runs of some words of a text, or of characters where it has fewer words. */
function* runs(text) {
  const parts = partsOf(text);
  for (let start = 0; start < Math.max(parts.length - SENTENCE + 1, 1); start++) yield parts.slice(start, start + SENTENCE).join(" ");
}

/** The first and the last run of a long text, without the words at its ends: others may be joined to these. */
function endsOf(text) {
  const parts = partsOf(text).slice(1, -1);
  return [parts.slice(0, SENTENCE), parts.slice(-SENTENCE)].map((run) => run.join(" "));
}

function partsOf(text) {
  const apart = wordsApart(text);
  return apart.length >= LONG ? apart : Array.from(text);
}
