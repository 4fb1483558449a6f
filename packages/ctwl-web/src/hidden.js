/**
 * 10, step 1: what nobody sees in a text, or takes for another letter. Each function gives the edits that take one kind
 * of it out: `[start, end, string]` each. A text is first written as the kinds of its characters, one letter each. The
 * last two look at the text as given, and say where something is that cannot be taken out.
 */
import { ALPHA, size, wordsApart } from "./characters.js";
import { MAX_MARKS } from "./normalization.js";
import { HIDDEN, TEXT } from "./numbers.js";

/** The first and the last code point of each range. */
const ranges = (text) => text.split(" ").map((each) => [each.split("-")[0], each.split("-").at(-1)].map((code) => parseInt(code, 16)));
const pointsIn = (text) => ranges(text).flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => first + i));
const charactersIn = (text) => String.fromCodePoint(...pointsIn(text));

/** Whether one of ascending ranges holds a code point. */
function holds(bounds, point) {
  let [low, high] = [0, bounds.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bounds[middle][0] <= point) low = middle + 1;
    else high = middle;
  }
  return low > 0 && point <= bounds[low - 1][1];
}

/** A text as the kinds of its characters, the first that holds each, or `x`; and the place of each, and of the end. */
function kindsOf(text, table) {
  const [known, kinds, at] = [new Map(), [], []];
  let place = 0;
  for (const character of text) {
    if (!known.has(character)) {
      const point = character.codePointAt(0);
      known.set(character, table.find(([, bounds]) => holds(bounds, point))?.[0] ?? "x");
    }
    kinds.push(known.get(character));
    at.push(place);
    place += character.length;
  }
  at.push(place);
  return { kinds: kinds.join(""), at };
}

const isAscii = (text) => !/[^\x00-\x7f]/.test(text);

// ---- What nobody sees.

const SPACES = pointsIn(TEXT.white_space).sort((a, b) => a - b).map((point) => [point, point]);
const SEEN = [
  ["n", ranges(HIDDEN.never)],
  ["p", ranges(HIDDEN.private)],
  ["b", ranges(HIDDEN.blanks)],
  ["e", ranges(HIDDEN.elsewhere)],
  [" ", SPACES],
  ["o", ranges(HIDDEN.own)],
];
const STRANGE = /[^\t-\r -~]/;
const NEVER = /n+|(?<=[on])p+(?![^ onbe])|(?<![^ onbe])p+(?=[on])/g;
const ELSEWHERE = /(?<![^ onp])[be]+(?![^ onp])/g;

/** What no text needs goes; of private use, what stands beside the letters and signs that need none. */
export function never(text) {
  if (!STRANGE.test(text)) return [];
  const { kinds, at } = kindsOf(text, SEEN);
  return Array.from(kinds.matchAll(NEVER), ({ 0: found, index }) => [at[index], at[index + found.length], ""]);
}

/**
 * What other scripts need goes, where none of their characters is beside it. A blank between two characters that are
 * seen becomes a space, if such blanks part words.
 */
export function elsewhere(text) {
  if (isAscii(text)) return [];
  const { kinds, at } = kindsOf(text, SEEN);
  const space = partWords(kinds) ? " " : "";
  return Array.from(kinds.matchAll(ELSEWHERE), ({ 0: found, index }) => {
    const end = index + found.length;
    const inside = index > 0 && kinds[index - 1] !== " " && end < kinds.length && kinds[end] !== " ";
    return [at[index], at[end], inside && found.includes("b") ? space : ""];
  });
}

/** Whether blanks part words, and do not stand within them: by how long the parts are that they leave. */
function partWords(kinds) {
  let [count, seen] = [0, 0];
  for (const piece of kinds.replaceAll("e", "").split(" ")) {
    const parts = piece.split("b").filter((part) => part);
    if (parts.length < 2) continue;
    count += parts.length;
    for (const part of parts) seen += part.length;
  }
  return seen >= HIDDEN.whole_word * count;
}

// ---- Accents that no language has.

const LATIN = ranges(HIDDEN.latin);
const ODD = ranges(HIDDEN.accents);
const LETTERS = [["a", [[0x300, 0x36f]]], ["a", ODD], ["l", [[0, 0x7f]]], ["l", LATIN]];
const ACCENTED = new RegExp(`la{0,${MAX_MARKS}}`, "g");
const FAINT = charactersIn(HIDDEN.faint);
const [ABOVE, BELOW] = ["\u0307", "\u0323"];

/** Accents go that no language has, if enough words have any; so do faint ones beside these, or on odd letters. */
export function oddAccents(text) {
  if (isAscii(text)) return [];
  const [found, least] = [accentedIn(text), few(text)];
  const anyOdd = found.filter(({ odd }) => odd.length).length >= least;
  const letters = new Map();
  for (const { letter, accents, odd } of found) {
    for (const accent of new Set(accents)) {
      if (!FAINT.includes(accent) || odd.includes(accent)) continue;
      if (!letters.has(accent)) letters.set(accent, new Map());
      const [on, small] = [letters.get(accent), letter.toLowerCase()];
      on.set(small, (on.get(small) ?? 0) + 1);
    }
  }
  const faint = new Set();
  for (const [accent, on] of letters) {
    const total = Array.from(on.values()).reduce((sum, count) => sum + count, 0);
    if (anyOdd || (total >= least && isOdd(accent, on, total, found.length - total))) faint.add(accent);
  }
  return found.flatMap(({ start, end, letter, accents, odd }) => {
    const kept = accents.filter((accent) => !faint.has(accent) && !(anyOdd && odd.includes(accent)));
    return kept.length < accents.length ? [[start, end, letter + kept.join("")]] : [];
  });
}

/** The characters of ASCII with accents, and those that no language has there, or that do not show. */
function accentedIn(text) {
  const { kinds, at } = kindsOf(text, LETTERS);
  const [known, found] = [new Map(), []];
  for (const { 0: run, index } of kinds.matchAll(ACCENTED)) {
    const [start, end] = [at[index], at[index + run.length]];
    const cluster = text.slice(start, end);
    if (isAscii(cluster)) continue;
    if (!known.has(cluster)) known.set(cluster, takenApart(cluster));
    if (known.get(cluster).accents.length) found.push({ start, end, ...known.get(cluster) });
  }
  return found;
}

function takenApart(cluster) {
  const [letter, ...accents] = cluster.normalize("NFD");
  if (!isAscii(letter)) return { accents: [] };
  const loose = !/[A-Za-z]/.test(letter);
  const shows = (accent) => !loose && !holds(ODD, accent.codePointAt(0)) && !(accent === ABOVE && "ij".includes(letter));
  return { letter, accents, odd: accents.filter((accent) => !shows(accent)) };
}

/** Whether a faint accent is on letters on which no language has it; so many characters have others. */
function isOdd(accent, on, total, others) {
  const often = Array.from(on).filter(([, count]) => count >= HIDDEN.letter_share * total).map(([letter]) => letter);
  if (often.length >= HIDDEN.fewest_letters) return true;
  const alone = others < HIDDEN.accompanied * total;
  const dotted = often.length > 1 && often.includes("o") && often.every((letter) => HIDDEN.dotted.includes(letter));
  return accent === BELOW && alone && !dotted;
}

/** How many words of a text have what is no chance. */
const few = (text) => Math.max(HIDDEN.fewest, HIDDEN.share * wordsApart(text).length);

// ---- Letters of other alphabets that look like those of ASCII.

const looksOf = (table) => Object.entries(table).flatMap(([like, points]) => Array.from(charactersIn(points), (each) => [each, like]));
const single = (characters) => characters.map((each) => each.codePointAt(0)).sort((a, b) => a - b).map((point) => [point, point]);
const [ALIKE, STYLED] = [looksOf(HIDDEN.alike), looksOf(HIDDEN.styled)];
const LOOKS = new Map([...ALIKE, ...STYLED]);
const BORROWED = ["l", ranges(HIDDEN.borrowed)];
const BESIDE = new RegExp(`[${charactersIn(HIDDEN.beside)}]`, "u");
const WORDS = [
  ["A", [[0x41, 0x5a]]],
  ["a", [[0x61, 0x7a]]],
  ["t", single(Array.from(LOOKS).filter(([, like]) => ".,".includes(like)).map(([each]) => each))],
  ["g", single(Array.from(LOOKS).filter(([, like]) => !/[A-Za-z]/.test(like)).map(([each]) => each))],
  ["s", single(STYLED.map(([each]) => each))],
  ["k", single(ALIKE.map(([each]) => each))],
  ["l", LATIN],
  [" ", ranges(HIDDEN.between)],
];

/** Letters of two kinds, but for an index or a Greek letter at the end of a symbol; or a stop or comma of others. */
const MIXED = /[sk][Aa]|aa[sk]|ss|[Aa]t$/;

/** What looks like a letter of ASCII becomes it, in words of such and of Latin letters, if enough are mixed. */
export function lookAlikes(text) {
  if (isAscii(text)) return [];
  const { kinds, at } = kindsOf(text, BESIDE.test(text) ? [BORROWED, ...WORDS] : WORDS);
  const words = Array.from(kinds.matchAll(/[^ ]+/g)).filter(({ 0: word }) => !word.includes("x"));
  if (words.filter(({ 0: word }) => MIXED.test(word)).length < few(text)) return [];
  const edits = [];
  for (const { 0: word, index } of words) {
    for (let i = index; i < index + word.length; i++) {
      if ("tgsk".includes(kinds[i])) edits.push([at[i], at[i + 1], LOOKS.get(text.slice(at[i], at[i + 1]))]);
    }
  }
  return edits;
}

// ---- What turns words around, cuts them apart, or stands where their stops and commas do.

const ORDERS = [
  ["t", ranges(HIDDEN.turned)],
  ["o", ranges(HIDDEN.right_to_left_marks)],
  ["r", ranges(HIDDEN.right_to_left_scripts)],
];
const SIGNS = [["s", ranges(HIDDEN.signs)], [" ", SPACES], ["a", [[0x41, 0x5a], [0x61, 0x7a]]], ["l", LATIN]];
const NARROW = charactersIn(HIDDEN.narrow);
const LETTER = new RegExp(`^${ALPHA}$`, "u");
const NARROW_SPACE = new RegExp(`[${NARROW}]`);
const CUT = new RegExp(`(?:${ALPHA})+(?:[${NARROW}](?:${ALPHA})+)+`, "gu");

/** The places of overrides of direction; and of right-to-left marks, if they outnumber letters of such scripts. */
export function turned(text) {
  if (isAscii(text)) return [];
  const { kinds, at } = kindsOf(text, ORDERS);
  const counted = (kind) => kinds.split(kind).length - 1;
  const named = counted("o") >= Math.max(HIDDEN.fewest, counted("r") + 1) ? "to" : "t";
  return at.slice(0, -1).filter((_, i) => named.includes(kinds[i]));
}

/** The places of narrow spaces within words, if there are enough, and the parts are too short for whole words. */
export function apart(text) {
  if (isAscii(text)) return [];
  const [places, parts] = [[], []];
  for (const { 0: cut, index } of text.matchAll(CUT)) {
    for (let i = 0; i < cut.length; i++) if (NARROW.includes(cut[i])) places.push(index + i);
    parts.push(...cut.split(NARROW_SPACE));
  }
  const letters = parts.reduce((sum, part) => sum + size(part), 0);
  return places.length >= HIDDEN.fewest && letters < HIDDEN.whole_word * parts.length ? places : [];
}

/** The places of punctuation of other scripts behind letters of ASCII, if enough, and more than other letters. */
export function foreignSigns(text) {
  if (isAscii(text)) return [];
  const { kinds, at } = kindsOf(text, SIGNS);
  const places = Array.from(kinds.matchAll(/(?<=a)s(?= |$)/g), ({ index }) => at[index]);
  if (places.length < few(text)) return [];
  const letters = Array.from(text, (character) => LETTER.test(character));
  const others = letters.filter((is, i) => is && kinds[i] === "x").length;
  return others < places.length ? places : [];
}
