/**
 * 10, step 1: the text as given and, where it looks wrapped, justified, marked up or set in capitals, has ligatures, or
 * has joiners between ASCII characters, a second variant without these things.
 */
import { AlignedText } from "./aligned.js";
import { ENTITIES } from "./entities.js";
import { pointsOf, VARIANTS } from "./numbers.js";
import { Refusal } from "./refusal.js";

export const AS_GIVEN = "as given";

const { widest: WIDEST, mostly_full: MOSTLY_FULL, capitals: CAPITALS, fewest_words: FEWEST_WORDS } = VARIANTS;
/** White space, inside of brackets. */
const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const [BLANK, SOLID] = [`[${SPACE}]`, `[^${SPACE}]`];
const [LETTER, START, END] = ["[\\p{L}\\p{N}]", "(?<![^\\n])", "(?![^\\n])"];
/** A letter, and not a digit. */
const ALPHA = `(?!\\p{Nd})${LETTER}`;

const BLOCKS = new Set(
  ("address article aside blockquote br dd div dl dt figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre " +
    "section table td th tr ul").split(" "),
);
const PARAGRAPHS = new Set("p h1 h2 h3 h4 h5 h6 blockquote pre".split(" "));
const LONGEST_TAG = VARIANTS.longest_tag;
/** \b is of ASCII alone. */
const WORD_END = "(?![\\p{L}\\p{N}_])";
const TAG = new RegExp(
  `</?(?:${[...BLOCKS].join("|")}|html|head|body|script|style|span|a|b|i|em|strong|code|u|sup|sub)${WORD_END}[^<>]{0,400}>`,
  "giu",
);
const TAG_START = /<\/?[a-zA-Z]|<[!?]/y;
const TAG_NAME = /<\/?([a-z][a-z0-9]{0,20})/y;
const HIDDEN_TAG = new RegExp(`<(script|style|head|template)${WORD_END}`, "uy");
const WORD = new RegExp(
  `${BLANK}+|&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});?|[^${SPACE}&]+|&`,
  "gi",
);
const BREAKS = ["", " ", "\n", "\n\n"];
const LINE = /[^\n]*(?:\n|(?<=[^\n])$)/g;
const GAPS = new RegExp(`(?<=${SOLID}) {2,}(?=${SOLID})`, "gu");
const JOINERS = new RegExp(`(?<![^\\x00-\\x7f])[${pointsOf(VARIANTS.joiners)}]+(?![^\\x00-\\x7f])`, "gu");
const LIGATURES = new RegExp(`[${pointsOf(VARIANTS.ligatures)}]`, "gu");
const LETTERS = new RegExp(`(?:${ALPHA})+`, "gu");
const MARKDOWN = new RegExp(
  [
    `${START} {0,3}(?:> ?)+`, // quotations, in mail too
    `${START} {0,3}#{1,6} +`, // headings
    `${START} {0,8}[*+\\-] +`, // items
    `${START} {0,3}(?:[\\-*_] *){3,}${END}`, // rules
    `(?<link>!?\\[(?<words>[^\\[\\]\\n]{0,400})\\]\\([^()${SPACE}]{0,400}\\))`,
    `\\*{1,3}(?=${SOLID})|(?<=${SOLID})\\*{1,3}`, // emphasis
    `(?<!${LETTER})_{1,3}(?=${SOLID})|(?<=${SOLID})_{1,3}(?!${LETTER})`,
    "`{1,3}|~~",
    "\\\\(?=[\\\\`*_{}\\[\\]()#+.!>\\-])", // escapes
  ].join("|"),
  "gu",
);

/**
 * The text as given and, where that differs, a cleaned one: `{name, text}`, normalized. Both follow from the normalized
 * text alone. Refused as `not-text` where the text as given cannot be normalized; a second variant that cannot be is left
 * out.
 */
export function variantsOf(text) {
  const given = AlignedText.of(text).normalized();
  let cleaned = given;
  const done = [];
  for (const [name, step] of STEPS) {
    const before = cleaned;
    cleaned = step(before);
    if (cleaned.text !== before.text) done.push(name);
  }
  const first = { name: AS_GIVEN, text: given };
  try {
    const second = cleaned.normalized();
    return first.text.text === second.text ? [first] : [first, { name: done.join(", "), text: second }];
  } catch (error) {
    if (error instanceof Refusal) return [first];
    throw error;
  }
}

/** What is done to a text for its second variant, in this order. */
const STEPS = [
  ["without joiners", (given) => replaced(given, JOINERS, () => "")],
  ["without ligatures", (given) => replaced(given, LIGATURES, (ligature) => ligature.normalize("NFKC"))],
  ["without marks", (given) => ((given.text.match(TAG) ?? []).length >= 2 ? withoutHtml(given) : withoutMarkdown(given))],
  ["lines joined", unwrapped],
  ["gaps closed", (given) => replaced(given, GAPS, () => " ")],
  ["capitals lowered", withoutCapitals],
];

const replaced = (given, pattern, put) =>
  given.edited(Array.from(given.text.matchAll(pattern), ({ 0: found, index }) => [index, index + found.length, put(found)]));

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

const LEADING = new RegExp(`^${BLANK}+`);
const FIRST_WORD = new RegExp(`^${BLANK}*(${SOLID}*)`);
const isBlank = new RegExp(`^${BLANK}*$`);

/** How long a text is without white space at its end, in UTF-16 units. A loop: a pattern would take quadratic time. */
function trimmedEnd(text) {
  let end = text.length;
  while (end > 0 && isBlank.test(text[end - 1])) end--;
  return end;
}

/** How many characters a text has. */
const size = (text) => {
  let count = 0;
  for (const _ of text) count++;
  return count;
};

const SEVERAL_WORDS = new RegExp(`${SOLID}${BLANK}+${SOLID}`, "u");
const DIVIDED = new RegExp(`${ALPHA}-$`, "u");
const SMALL = new RegExp(`^${BLANK}*\\p{Lowercase}`, "u");

/** Characters of the longest line of several words: a program that wraps lets a long word stand alone. */
const widthOf = (lines, otherwise) => {
  const several = lines.filter(({ line }) => SEVERAL_WORDS.test(line));
  return several.length ? several.reduce((most, { width }) => Math.max(most, width), 0) : otherwise;
};

/** Whether a line ends inside a word. */
const isDivided = ({ line, end }, following) => DIVIDED.test(line.slice(0, end)) && SMALL.test(following.line);

/**
 * Line breaks that only keep lines short become spaces: the next line's first word would not have fitted. A line that
 * ends a paragraph may be shorter. A word that is divided at a break becomes one again.
 */
function unwrapped(given) {
  const lines = Array.from(given.text.matchAll(LINE), ({ 0: line, index }) => {
    const end = trimmedEnd(line);
    return { start: index, line, end, width: size(line.slice(0, end)) };
  });
  const widest = widthOf(lines, WIDEST + 1);
  const edits = [];
  for (let first = 0, behind; first < lines.length; first = behind) {
    const blank = lines[first].end === 0;
    for (behind = first + 1; behind < lines.length && (lines[behind].end === 0) === blank; behind++);
    const paragraph = lines.slice(first, behind);
    const width = paragraph.length > 2 ? widthOf(paragraph, widest) : widest;
    if (blank || width > WIDEST) continue;
    const isFull = ([line, following]) =>
      line.width + 1 + size(FIRST_WORD.exec(following.line)[1]) > width || isDivided(line, following);
    const pairs = paragraph.slice(1).map((following, i) => [paragraph[i], following]);
    const breaks = pairs.filter(isFull);
    if (breaks.length <= MOSTLY_FULL * pairs.length) continue; // the writer ended these lines on purpose
    for (const [line, following] of breaks) {
      const indent = (LEADING.exec(following.line)?.[0] ?? "").length;
      const divided = isDivided(line, following);
      edits.push([line.start + line.end - divided, following.start + indent, divided ? "" : " "]);
    }
  }
  return given.edited(edits);
}

function withoutMarkdown(given) {
  const edits = [];
  for (const { 0: mark, index, groups } of given.text.matchAll(MARKDOWN)) {
    const end = index + mark.length;
    if (groups.link !== undefined) {
      const words = index + mark.indexOf("[") + 1;
      edits.push([index, words, ""], [words + groups.words.length, end, ""]);
    } else if (mark) edits.push([index, end, ""]);
  }
  return given.edited(edits);
}

/** The words of a page, with the break between them that its tags ask for: a blank line, a line end or a space. */
function withoutHtml(given) {
  const { text } = given;
  const edits = [];
  let [done, wanted] = [0, 0];
  for (const [tag, start, end] of outsideTags(text)) {
    wanted = Math.max(wanted, PARAGRAPHS.has(tag) ? 3 : BLOCKS.has(tag) ? 2 : 0);
    for (const { 0: word, index } of text.slice(start, end).matchAll(WORD)) {
      if (isBlank.test(word)) {
        wanted = Math.max(wanted, 1);
        continue;
      }
      const at = start + index;
      edits.push([done, at, BREAKS[wanted]], [at, at + word.length, unescape(word)]);
      [done, wanted] = [at + word.length, 0];
    }
  }
  return given.edited([...edits, [done, text.length, ""]]);
}

/** The visible parts of a page: the tag before each, its start and its end. Takes linear time for any text. */
function* outsideTags(text) {
  const folded = text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  const endless = new Set(); // ends that do not follow any more
  const at = (pattern, string, place) => {
    pattern.lastIndex = place;
    return pattern.exec(string);
  };
  let [done, tag] = [0, ""];
  for (let place = text.indexOf("<"); place >= 0; place = text.indexOf("<", place)) {
    let [end, start] = [">", place + 1];
    const hidden = at(HIDDEN_TAG, folded, place);
    if (text.startsWith("<!--", place)) [end, start] = ["-->", place + 4];
    else if (hidden) end = `</${hidden[1]}`;
    let closed = endless.has(end) ? -1 : end === ">" ? folded.slice(start, start + LONGEST_TAG).indexOf(end) : folded.indexOf(end, start);
    if (end === ">" && closed >= 0) closed += start;
    if (closed < 0 || (end === ">" && !at(TAG_START, text, place))) {
      if (end !== ">") endless.add(end);
      place++;
      continue;
    }
    yield [tag, done, place];
    tag = at(TAG_NAME, folded, place)?.[1] ?? "";
    done = place = closed + (end === ">" || end === "-->" ? end.length : 0);
  }
  yield [tag, done, text.length];
}

const REFERENCE = /&(#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)/g;
/** What Windows-1252 has at 0x80 to 0x9f. */
const WINDOWS =
  "\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f" +
  "\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178";

/** Text with the characters that HTML's references stand for. */
const unescape = (text) => text.replace(REFERENCE, (whole, name) => (name[0] === "#" ? numbered(name) : named(name) ?? whole));

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
