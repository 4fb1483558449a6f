/**
 * The marks of HTML, Markdown, wikis, boards, chat programs, LaTeX, string literals and terminals, taken out of a text.
 *
 * One scanner reads all of them by the table `marks` of spec/numbers.json. It goes through the text from left to right and
 * takes, at each place, the first rule that matches. Marks may be nested in any order: the text is read again until no
 * mark is left. All patterns are bounded, so each reading takes linear time.
 */
import { LETTER } from "./characters.js";
import { normalizeWithin } from "./normalization.js";
import { DIALECTS, MARKS, TAGS, VARIANTS } from "./numbers.js";
import { unescape } from "./references.js";

const BREAKS = ["", " ", "\n", "\n\n"];
const WHITE = "white";
/** A stroke that keeps a character from being a mark. */
const ESCAPE = /\\([!-/:-@[-`{-~])/g;

const named = (names) => new Set(names.split(" "));
const [PARAGRAPH, BLOCK, LINE, INLINE, HIDDEN] = ["paragraph", "block", "line", "inline", "hidden"].map((kind) => named(TAGS[kind]));
const KNOWN = new Set([...PARAGRAPH, ...BLOCK, ...LINE, ...INLINE]);

/** A pattern of the table, where `%letter` is a letter or a digit. */
const compiled = (pattern, flags) => new RegExp(pattern.replaceAll("%letter", LETTER), flags);
const SIGNS = Object.fromEntries(Object.entries(DIALECTS).map(([name, { pattern }]) => [name, compiled(pattern, "gu")]));
const TAG = compiled(MARKS.tag.pattern, "gu");

/** A text without its marks. */
export function withoutMarks(given) {
  for (let round = 0; round < VARIANTS.rounds; round++) {
    const folded = given.text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
    const before = given.text;
    given = given.edited([...new Reading(before, folded).edits(scannerOf(dialectsOf(folded)))]);
    if (given.text === before) break;
  }
  return given.edited(Array.from(given.text.matchAll(ESCAPE), ({ 1: put, index }) => [index, index + 2, put]));
}

/** The kinds of text that a text shows signs of. */
function dialectsOf(folded) {
  const shown = [];
  for (const [name, { times, unless }] of Object.entries(DIALECTS)) {
    if (!shown.includes(unless) && has(folded.matchAll(SIGNS[name]), times)) shown.push(name);
  }
  return shown;
}

function has(found, times) {
  let count = 0;
  for (const _ of found) if (++count === times) return true;
  return false;
}

/** Rules as one pattern: the name of a group is the rule's, and `inner` has the number of the group inside of it. */
function anyOf(rules) {
  const inner = {};
  let groups = 0;
  for (const [name, { pattern }] of rules) {
    inner[name] = groups + 2;
    groups += compiled(`${pattern}|`, "u").exec("").length;
  }
  const pattern = compiled(rules.map(([name, { pattern: each }]) => `(?<${name}>${each})`).join("|"), "duy");
  return (text, place) => {
    pattern.lastIndex = place;
    const found = pattern.exec(text);
    if (found === null) return null;
    const name = Object.keys(found.groups).find((each) => found.groups[each] !== undefined);
    return { name, start: place, end: pattern.lastIndex, text: found[0], inner: found[inner[name]], place: found.indices[inner[name]] };
  };
}

const scanners = new Map();

function scannerOf(dialects) {
  const key = dialects.join(" ");
  if (!scanners.has(key)) scanners.set(key, new Scanner(dialects));
  return scanners.get(key);
}

/** Finds the marks and the white space of texts of some kinds. A rule is tried at the characters it begins with alone. */
class Scanner {
  #atLine;
  #at = new Map();
  #stop;

  constructor(dialects) {
    const rules = Object.entries(MARKS).filter(([, { dialect }]) => !dialect || dialects.includes(dialect));
    const first = new Set(rules.map(([, { at }]) => at ?? "").join(""));
    this.#atLine = anyOf(rules.filter(([, { at }]) => !at));
    for (const each of first) this.#at.set(each, anyOf(rules.filter(([, { at }]) => at?.includes(each))));
    this.#stop = new RegExp(`[ \\t]*\\n|[ \\t]+|[${[...first].map((each) => each.replace(/[\]\\^-]/, "\\$&")).join("")}]`, "g");
  }

  /** The next mark or run of white space. */
  next(text, place) {
    let found = place === 0 || text[place - 1] === "\n" ? this.#atLine(text, place) : null;
    for (this.#stop.lastIndex = place; found === null; ) {
      const stop = this.#stop.exec(text);
      if (stop === null) break;
      const rules = this.#at.get(stop[0]);
      found = rules ? rules(text, stop.index) : { name: WHITE, start: stop.index, end: this.#stop.lastIndex, text: stop[0] };
    }
    return found;
  }
}

/** What stands between two words: white space, and marks that are taken out. */
class Gap {
  white = [];
  /** The break that its tags ask for, from none to a blank line. */
  breaks = 0;
  marked = false;
  /** Whether a mark begins a line in it. */
  lined = false;

  constructor(place) {
    this.start = this.end = place;
  }

  /** Takes a mark out. */
  take(rule, end) {
    while (rule.eats && this.white.length && !this.white.at(-1).includes("\n")) this.white.pop();
    [this.end, this.marked, this.lined] = [end, true, this.lined || !rule.at];
  }

  /** What it becomes. Inside of an element of HTML the end of a line is a space. */
  put(inside) {
    const white = this.white.join("");
    const ends = white.split("\n").length - 1;
    let level = white ? Math.min(ends, 2) + 1 : 0;
    if (inside && level === 2 && !this.lined) level = 1;
    if (this.breaks || inside) return BREAKS[Math.max(this.breaks, level)];
    const several = this.marked && this.white.length > 1;
    return several && (ends > 2 || !ends) ? BREAKS[level] : white;
  }
}

/** One reading of a text. */
class Reading {
  #text;
  #folded;
  #page;
  #gap = new Gap(0);
  #depth = 0;
  #endless = new Set(); // ends that do not follow any more

  constructor(text, folded) {
    [this.#text, this.#folded] = [text, folded];
    const known = Array.from(folded.matchAll(TAG)).filter(({ 1: name }) => KNOWN.has(name));
    this.#page = known.length >= VARIANTS.page_tags;
  }

  /** What is changed in the text by the rules of a scanner. */
  *edits(scanner) {
    for (let place = 0, found; (found = scanner.next(this.#folded, place)) !== null; ) {
      if (found.start > this.#gap.end) yield* this.#close(found.start);
      if (found.name === WHITE) {
        this.#gap.white.push(found.text);
        this.#gap.end = place = found.end;
        continue;
      }
      const rule = MARKS[found.name];
      const [words, behind] = this.#read(found, rule);
      place = behind;
      if (words) {
        const [start, end, put] = words;
        this.#gap.take(rule, start);
        yield* this.#close(end);
        if (put !== undefined) yield [start, end, put];
      }
      this.#gap.take(rule, place);
    }
    yield* this.#close(this.#text.length);
  }

  /** Words follow the gap, and the next one begins where they end. */
  *#close(start) {
    const gap = this.#gap;
    this.#gap = new Gap(start);
    const atAnEnd = gap.start === 0 || gap.end === this.#text.length;
    const put = atAnEnd ? "" : gap.put(this.#depth > 0);
    if (put !== this.#text.slice(gap.start, gap.end)) yield [gap.start, gap.end, put];
  }

  /** The words in a mark, with what they become where they do not stay, and where the reading goes on. */
  #read(found, rule) {
    const { start, end } = found;
    let hidden = "";
    switch (rule.does) {
      case "stay":
        return [[start, end], end];
      case "keep":
        return [found.place[0] < found.place[1] ? found.place : null, end];
      case "put":
        return [[start, end, rule.put], end];
      case "reference":
      case "number": {
        const whole = this.#text.slice(start, end);
        const put = normalizeWithin(unescape(rule.does === "reference" ? whole : numbered(found.inner)));
        return [[start, end, put === whole ? undefined : put], end];
      }
      case "tag":
        hidden = this.#tag(found.inner, found.text);
        break;
      case "hide":
        hidden = rule.put;
        break;
      default:
        this.#gap.breaks = Math.max(this.#gap.breaks, rule.breaks ?? 0);
    }
    const behind = hidden === null ? -1 : this.#behind(hidden, end);
    return behind >= 0 ? [null, behind] : [[start, start + 1], start + 1];
  }

  /** Notes the break that a tag asks for. What ends the words that it hides, or null where it is no tag of HTML. */
  #tag(name, tag) {
    if (!KNOWN.has(name) && !this.#page) return null;
    const [opens, empty] = [tag[1] !== "/", tag.at(-2) === "/"];
    if (LINE.has(name)) this.#gap.breaks = Math.min(Math.max(this.#gap.breaks + 1, 2), 3);
    else if (PARAGRAPH.has(name) || BLOCK.has(name)) {
      this.#gap.breaks = Math.max(this.#gap.breaks, PARAGRAPH.has(name) ? 3 : 2);
      this.#depth = Math.max(this.#depth + (opens ? 1 : -1) - empty, 0);
    }
    return HIDDEN.has(name) && opens && !empty ? `</${name}` : "";
  }

  /** The place behind what is hidden, which ends with this string; -1 where it does not end. */
  #behind(hidden, place) {
    if (!hidden) return place;
    const end = this.#endless.has(hidden) ? -1 : this.#folded.indexOf(hidden, place);
    if (end < 0) {
      this.#endless.add(hidden);
      return -1;
    }
    return hidden.startsWith("</") ? end : end + hidden.length;
  }
}

/** A character of a string literal as one of HTML, from its number or from its two halves. */
function numbered(digits) {
  const [high, low] = digits.split("\\u").map((half) => parseInt(half, 16));
  return `&#${low === undefined ? high : 0x10000 + ((high - 0xd800) << 10) + low - 0xdc00};`;
}
