/**
 * Lines that a program broke, joined again.
 *
 * A break is a program's where the next word would not have fitted into the line. How much fits is what the paragraph's
 * longest line shows: in characters, as a terminal counts, or in the widths that letters roughly have in any proportional
 * font, as in the columns of a page.
 */
import { ALPHA, BLANK, size, SOLID } from "./characters.js";
import { VARIANTS } from "./numbers.js";

const { widest: WIDEST, mostly_full: MOSTLY_FULL, nearly_full: NEARLY_FULL } = VARIANTS;
const LINE = /[^\n]*(?:\n|(?<=[^\n])$)/g;
/** What ends a sentence; where most lines do, the blank lines between them are the writer's. */
const ENDS = ".!?:;\"'";
const LEADING = new RegExp(`^${BLANK}+`);
const FIRST_WORD = new RegExp(`^${BLANK}*(${SOLID}*)`);
const SEVERAL_WORDS = new RegExp(`${SOLID}${BLANK}+${SOLID}`, "u");
const DIVIDED = new RegExp(`${ALPHA}-$`, "u");
const SMALL = new RegExp(`^${BLANK}*\\p{Lowercase}`, "u");
const isBlank = new RegExp(`^${BLANK}$`);

const [NARROW, OTHER, CAPITAL, BROAD] = VARIANTS.widths;
const WIDTHS = new Map([
  ...Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZ", (letter) => [letter, CAPITAL]),
  ...Array.from(VARIANTS.narrow_characters, (each) => [each, NARROW]),
  ...Array.from(VARIANTS.broad_characters, (each) => [each, BROAD]),
]);

/** The width of words in a proportional font, in fourteenths of an em. */
function printed(words) {
  let width = 0;
  for (const character of words) width += WIDTHS.get(character) ?? OTHER;
  return width;
}

/**
 * A text whose breaks that only keep lines short are spaces; a word that is divided at a break becomes one again. A line
 * that ends a paragraph may be shorter. Where a blank line follows each line, the blank lines are breaks too.
 */
export function withJoinedLines(given) {
  const lines = Array.from(given.text.matchAll(LINE), lineOf);
  let paragraphs = [[]];
  for (const line of lines) {
    if (line.text) paragraphs.at(-1).push(line);
    else if (paragraphs.at(-1).length) paragraphs.push([]);
  }
  paragraphs = paragraphs.filter((paragraph) => paragraph.length);
  if (paragraphs.length >= VARIANTS.fewest_alone && paragraphs.every((paragraph) => paragraph.length === 1)) {
    const alone = paragraphs.flat();
    const ended = alone.filter(({ text }) => ENDS.includes(text.at(-1))).length;
    paragraphs = ended < MOSTLY_FULL * alone.length ? [alone] : [];
  }
  const edits = [];
  const known = new Map();
  const ofText = (measure) => known.get(measure) ?? known.set(measure, widestOf(lines, measure)).get(measure);
  for (const paragraph of paragraphs) {
    // A paragraph of two lines shows no width of its own.
    const widest = paragraph.length > 2 ? (measure) => widestOf(paragraph, measure) : ofText;
    const breaks = breaksOf(paragraph, widest);
    for (let i = 0; i + 1 < paragraph.length; i++) {
      if (!breaks.has(i)) continue;
      const [line, following] = [paragraph[i], paragraph[i + 1]];
      const divided = isDivided(line, following);
      edits.push([line.start + line.text.length - divided, following.start + following.indent, divided ? "" : " "]);
    }
  }
  return given.edited(edits);
}

/** A line: its place in the text, the place and the text of its words, and the first of them. */
function lineOf({ 0: found, index }) {
  let end = found.length; // a loop: a pattern would take quadratic time
  while (end > 0 && isBlank.test(found[end - 1])) end--;
  const text = found.slice(0, end);
  return { start: index, indent: (LEADING.exec(text)?.[0] ?? "").length, text, first: FIRST_WORD.exec(text)[1] };
}

/** The lines of a paragraph whose ends are a program's: by either measure, or because each line is a word. */
function breaksOf(paragraph, widest) {
  if (paragraph.length >= VARIANTS.fewest_words && paragraph.every(({ text, first }) => text === first)) {
    return new Set(paragraph.keys());
  }
  if (widest(size) > WIDEST) return new Set();
  return new Set([...full(paragraph, widest, size, 1), ...full(paragraph, widest, printed, NEARLY_FULL)]);
}

/** The width of the widest line of several words: a program that wraps lets a long word stand alone. */
const widestOf = (lines, measure) => {
  const several = lines.filter(({ text }) => SEVERAL_WORDS.test(text));
  return several.length ? several.reduce((most, { text }) => Math.max(most, measure(text)), 0) : Infinity;
};

/** The lines that had no room for the next one's first word, if these are most of the paragraph's. */
function full(paragraph, widest, measure, share) {
  const room = share * widest(measure);
  const found = paragraph.slice(1).flatMap((following, i) => {
    const line = paragraph[i];
    return measure(`${line.text} ${following.first}`) > room || isDivided(line, following) ? [i] : [];
  });
  // Where they are fewer, the writer ended these lines on purpose.
  return found.length > MOSTLY_FULL * (paragraph.length - 1) ? found : [];
}

/** Whether a line ends inside a word. */
const isDivided = (line, following) => DIVIDED.test(line.text) && SMALL.test(following.text);
