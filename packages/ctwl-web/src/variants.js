/**
 * 10, step 1: the text as given and, where it has wrapped lines, wide gaps, letters in a style, capitals alone, marks of
 * HTML, Markdown and their like, ligatures, or what nobody sees, a second variant without these things.
 */
import { AlignedText } from "./aligned.js";
import { ALPHA, BLANK, LETTER, size, SOLID } from "./characters.js";
import { apart, elsewhere, foreignSigns, lookAlikes, never, oddAccents, turned } from "./hidden.js";
import { withJoinedLines } from "./lines.js";
import { withoutMarks } from "./marks.js";
import { HIDDEN, pointsOf, VARIANTS } from "./numbers.js";
import { Refusal } from "./refusal.js";

export const AS_GIVEN = "as given";

const { capitals: CAPITALS, fewest_words: FEWEST_WORDS } = VARIANTS;
const anyOf = (ranges) => `[${pointsOf(ranges)}]`;
const GAPS = new RegExp(`(?<=${SOLID})(?: [ \\t]+|\\t[ \\t]*)(?=${SOLID})`, "gu");
const PICTURES = new RegExp(HIDDEN.pictures, "g");
/** Variation selectors in a row: one varies a sign, more hide bytes, as a C2PA manifest of thousands does. And pictures. */
const NO_TEXT = new RegExp(`[\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}]{2,}|${HIDDEN.pictures}`, "gu");
const LIGATURES = new RegExp(anyOf(VARIANTS.ligatures), "gu");
const STYLED = new RegExp(`[${pointsOf(VARIANTS.letters)}${pointsOf(VARIANTS.wide)}]+`, "gu");
const LINE_ENDS = new RegExp(anyOf(VARIANTS.line_ends), "gu");
const LETTERS = new RegExp(`(?:${ALPHA})+`, "gu");
const HAS_LETTER = new RegExp(LETTER, "u");

/**
 * The text as given and, where that differs, a cleaned one: `{name, text}`, normalized. Both follow from the normalized
 * text alone. Refused as `not-text` where the text as given cannot be normalized; a second variant that cannot be is left
 * out.
 */
export function variantsOf(text) {
  const given = firstOf(text);
  let cleaned = given;
  const done = new Set();
  for (const [name, step] of STEPS) {
    const before = cleaned;
    cleaned = step(before);
    if (cleaned.text !== before.text) done.add(name);
  }
  const first = { name: AS_GIVEN, text: given };
  try {
    const second = cleaned.normalized();
    return first.text.text === second.text ? [first] : [first, { name: [...done].join(", "), text: second }];
  } catch (error) {
    if (error instanceof Refusal) return [first];
    throw error;
  }
}

const replaced = (given, pattern, put) =>
  given.edited(Array.from(given.text.matchAll(pattern), ({ 0: found, index }) => [index, index + found.length, put(found)]));

function firstOf(text) {
  const given = AlignedText.of(text).normalized();
  const edited = replaced(given, NO_TEXT, () => "");
  return edited.text === given.text ? given : edited.normalized();
}

/** How many characters a text has, without the pictures in it; only of a text of more units than `most` are they counted. */
export function charactersIn(text, most) {
  return text.length > most ? size(text.replace(PICTURES, "")) : text.length;
}

/**
 * What nobody sees in a text that can be normalized, where it is more than chance puts there: `{kind, start, count, point}`
 * each, of the first one its place in the text as given, and its code point. The second variant is without it. What turns
 * words around, cuts them apart, or stands for their stops is not undone in either.
 */
export function takenOut(text) {
  const once = (places) => places.map((place) => [place, 1]);
  const found = { invisible: [], accents: [], "look-alikes": [], turned: once(turned(text)), apart: once(apart(text)), signs: once(foreignSigns(text)) };
  let given = firstOf(text);
  if (never(given.text).length) given = withoutMarks(given); // which begin with some of these
  for (const [kind, step] of TAKEN_OUT) {
    const edits = step(given.text);
    const counted = ([start, end]) => (kind === "invisible" ? size(given.text.slice(start, end)) : 1);
    found[kind].push(...edits.map((edit) => [given.source[edit[0]], counted(edit)]));
    given = given.edited(edits);
  }
  return Object.entries(found).filter(([, each]) => each.length).map(([kind, each]) => {
    const start = each.reduce((least, [place]) => Math.min(least, place), Infinity);
    const point = `U+${text.codePointAt(start).toString(16).toUpperCase().padStart(4, "0")}`;
    return { kind, start, count: each.reduce((sum, [, count]) => sum + count, 0), point };
  }).filter(({ kind, count }) => kind === "turned" || count >= HIDDEN.fewest);
}

const compatible = (found) => found.normalize("NFKC");

/** Letters of formulas, and full width where letters have it: East Asian texts have marks of that width. */
function withPlainLetters(given) {
  const edits = [];
  for (const { 0: run, index } of given.text.matchAll(STYLED)) {
    if (!HAS_LETTER.test(compatible(run))) continue;
    let place = index;
    for (const each of run) edits.push([place, (place += each.length), compatible(each)]);
  }
  return given.edited(edits);
}

const by = (edits) => (given) => given.edited(edits(given.text));
const CHARACTERS = [
  ["without hidden characters", by(elsewhere)],
  ["without ligatures", (given) => replaced(given, LIGATURES, compatible)],
  ["letters made plain", withPlainLetters],
  ["without odd accents", by(oddAccents)],
  ["without look-alikes", by(lookAlikes)],
  ["line ends made plain", (given) => replaced(given, LINE_ENDS, () => "\n")],
];
const TAKEN_OUT = [["invisible", never], ["invisible", elsewhere], ["accents", oddAccents], ["look-alikes", lookAlikes]];
/** What is done to a text for its second variant, in this order. */
const STEPS = [
  ...CHARACTERS,
  ["without marks", withoutMarks],
  ["without hidden characters", by(never)], // marks begin with some of these
  ...CHARACTERS, // marks may have stood for these
  ["lines joined", withJoinedLines],
  ["gaps closed", (given) => replaced(given, GAPS, () => " ")],
  ["capitals lowered", withoutCapitals],
];

const HAS_BLANK = new RegExp(BLANK);

/**
 * Where nearly all words begin with a capital: small letters, but for the first of each sentence and *I*. Where other
 * words have small letters, a word of capitals alone is an abbreviation, and stays.
 */
function withoutCapitals(given) {
  const words = Array.from(given.text.matchAll(LETTERS), ({ 0: word, index }) => ({ word, index }));
  const firsts = words.map(({ word }) => String.fromCodePoint(word.codePointAt(0)));
  const cased = firsts.filter((letter) => letter.toLowerCase() !== letter.toUpperCase());
  const capitals = cased.filter((letter) => letter !== letter.toLowerCase()).length;
  if (cased.length < FEWEST_WORDS || capitals < CAPITALS * cased.length) return given;
  const onlyCapitals = words.every(({ word }) => word === word.toUpperCase());
  const edits = [];
  let done = 0;
  words.forEach(({ word, index }, i) => {
    const gap = given.text.slice(done, index);
    done = index + word.length;
    if (!onlyCapitals && size(word) > 1 && word === word.toUpperCase()) return;
    const begins = i === 0 || gap.includes("\n") || (/[.!?]/.test(gap) && HAS_BLANK.test(gap));
    const [head, ...tail] = word.toLowerCase();
    const small = [begins || (head === "i" && !tail.length) ? head.toUpperCase() : head, ...tail].join("");
    edits.push([index, done, small]);
  });
  return given.edited(edits);
}
