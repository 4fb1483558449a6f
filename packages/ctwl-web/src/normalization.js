/** 5.1 Normalization `ctwl-n1`. */
import { pointsOf, TEXT } from "./numbers.js";

const oneOf = (ranges) => new RegExp(`[${pointsOf(ranges)}]`, "gu");

/** What step 2 deletes. */
const DELETED = oneOf(TEXT.deleted);
/** Step 2: what is replaced by what. */
const REPLACED = [
  [oneOf(TEXT.spaces), " "],
  [oneOf(TEXT.line_ends), "\n"],
  [oneOf(TEXT.single_quotes), "'"],
  [oneOf(TEXT.double_quotes), '"'],
  [oneOf(TEXT.hyphens), "-"],
  [oneOf(TEXT.ellipses), "..."],
  [DELETED, ""],
];

/** All but what is taken away at the ends. */
export function normalizeWithin(text) {
  let normal = text.normalize("NFC");
  for (const [pattern, replacement] of REPLACED) normal = normal.replace(pattern, replacement);
  return normal.replace(/\r\n?/g, "\n").normalize("NFC");
}

/** The normal form of a text. */
export function normalize(text) {
  const normal = normalizeWithin(text);
  return normal.slice(...withoutEnds(normal));
}

const WHITE_SPACE = new RegExp(`[${pointsOf(TEXT.white_space)}]`, "u");

/** Where what stays of a text begins and ends, when the white space at its ends is taken away. */
export function withoutEnds(text) {
  // Two loops: a pattern that is anchored at the end takes quadratic time on long runs inside.
  let [first, behind] = [0, text.length];
  while (first < behind && WHITE_SPACE.test(text[first])) first++;
  while (behind > first && WHITE_SPACE.test(text[behind - 1])) behind--;
  return [first, behind];
}

/** The most combining marks in a row, without deleted characters. */
export const MAX_MARKS = TEXT.marks_in_a_row;
/** The marks that are made of others, and whose own combining class is 0. */
const CLASS_0 = "\u0f73\u0f75\u0f81";

/** Whether more combining marks are in a row than any script piles: 10, step 1. */
export function pilesMarks(text) {
  const known = new Map();
  let inRow = 0;
  for (const character of text.replace(DELETED, "")) {
    if (!known.has(character)) known.set(character, isMark(character));
    inRow = known.get(character) ? inRow + 1 : 0;
    if (inRow > MAX_MARKS) return true;
  }
  return false;
}

/** Whether a character's combining class is not 0: one of class 1 then goes before it, or it before one of class 240. */
function isMark(character) {
  const [first] = character.normalize("NFD"); // of the same class, but for three characters
  return !CLASS_0.includes(character) && [`${first}\u0334`, `\u0345${first}`].some((pair) => pair.normalize("NFD") !== pair);
}
