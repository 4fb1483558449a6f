/** 10, step 6: scores of all codes, and the best codes of windows, which a compiled module looks for. */
import { MODULE } from "./compiled.js";

/** The best of codes by their scores, the smallest of equals: at most `most`, best first. */
export function best(scores, codes, most) {
  const found = [];
  for (let i = 0; i < scores.length; i++) {
    if (found.length === most && scores[i] <= scores[found[most - 1]]) continue;
    let at = found.length;
    while (at > 0 && scores[found[at - 1]] < scores[i]) at--;
    found.splice(at, 0, i);
    if (found.length > most) found.pop();
  }
  return found.map((i) => (codes ? codes[i] : i));
}

/** Two scores are summed at once. */
const SCORES = 2;
/** The sizes of compiled/search.c: codes of a block, numbers of codes that a record may have, bytes of a block's sums. */
const [BLOCK, NUMBERS, SUMS] = [128, 4, 8 * 128];

/**
 * What the best code of each window is asked of: plain data, which goes to another thread as it is.
 *
 * @param text a ScoredText
 * @param scores two
 * @param counted the positions that count, ascending
 * @param windows `[n, from, behind]` each: the number of codes of the record, and the window
 * @param codes ascending, null for all below `2^bits`
 */
export function windowJob(text, scores, counted, windows, codes) {
  const cuts = Array.from(new Set(windows.flatMap(([, from, behind]) => [from, behind]))).sort((a, b) => a - b);
  const [pieceOf, place] = [new Int32Array(text.length), new Map(cuts.map((cut, i) => [cut, i]))];
  for (let piece = 0; piece + 1 < cuts.length; piece++) pieceOf.fill(piece, cuts[piece], cuts[piece + 1]);
  // Rows in order of their cells: a piece, and in how many of the numbers of codes a position carries slot 0.
  const cells = new Map();
  for (const i of counted) {
    if (i < cuts[0] || i >= cuts.at(-1)) continue;
    const cell = NUMBERS * pieceOf[i] + text.zeros[i] - 1;
    const name = cell * 2 ** 24 + text.contextOf[i];
    if (!cells.has(name)) cells.set(name, []);
    cells.get(name).push(i);
  }
  const rows = Array.from(cells.entries()).sort(([a], [b]) => a - b);
  const { colours: width, code_bits: bits } = text.profile;
  const units = new Int32Array(rows.length * width * SCORES);
  rows.forEach(([, places], r) => {
    scores.forEach((score, s) => {
      for (const i of places) {
        const own = text.units[score][i];
        for (let a = 0; a < width; a++) units[(r * width + a) * SCORES + s] += own[a];
      }
    });
  });
  const keeps = new Uint8Array(cuts.length);
  for (const [n, ...ends] of windows) for (const cut of ends) keeps[place.get(cut)] |= 1 << (n - 1);
  return {
    seeds: text.colourSeeds(),
    rows: Int32Array.from(rows.flatMap(([name]) => [Math.floor(name / 2 ** 24), name % 2 ** 24])),
    units,
    width,
    pieces: Math.max(cuts.length - 1, 0),
    keeps,
    windows: Int32Array.from(windows.flatMap(([n, from, behind]) => [n - 1, place.get(from), place.get(behind)])),
    codes,
    number: codes ? codes.length : 2 ** bits,
  };
}

/** What the score of each code is asked of, in a table of sums by context: plain data, too. */
export function scoreJob({ seeds, rows }, codes, bits) {
  const width = rows[0]?.length ?? 1;
  const units = new Int32Array(rows.length * width);
  rows.forEach((row, r) => units.set(row, r * width));
  return { seeds, units, width, codes, number: codes ? codes.length : 2 ** bits };
}

/** The compiled module, and where in its memory the last job's parts are. */
let compiled = null;
let placed = null;

/** The places of a job's parts in the module's memory, and of rooms of so many bytes behind them. */
function place(job, parts, ...rooms) {
  if (!compiled) {
    const bytes = Uint8Array.from(atob(MODULE), (character) => character.charCodeAt(0));
    compiled = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
  }
  if (placed?.job === job) return placed.at;
  const { memory, __heap_base: base } = compiled;
  let end = base.value;
  const at = [...parts.map((part) => part?.byteLength ?? 0), ...rooms].map((bytes) => {
    const start = Math.ceil(end / 16) * 16;
    end = start + bytes;
    return start;
  });
  if (end > memory.buffer.byteLength) memory.grow(Math.ceil((end - memory.buffer.byteLength) / 2 ** 16));
  parts.forEach((part, i) => part && new part.constructor(memory.buffer, at[i], part.length).set(part));
  placed = { job, at };
  return at;
}

/** Codes are scored by so many at most, whose scores the module has room for. */
const MOST = 2 ** 20;

/** The scores of the codes from `from` on and before `behind`. */
export function scoreCodes(job, from = 0, behind = job.number) {
  const { seeds, units, width, codes } = job;
  const room = Math.ceil(Math.min(job.number, MOST) / BLOCK) * BLOCK;
  const [s, u, c, work, scores] = place(job, [seeds, units, codes], 8 * BLOCK, 4 * room);
  const found = new Int32Array(behind - from);
  for (let first = from; first < behind; first += MOST) {
    const most = Math.min(MOST, behind - first);
    compiled.score(s, seeds.length, u, width, codes ? c : 0, first, first + most, work, scores);
    found.set(new Int32Array(compiled.memory.buffer, scores, most), first - from);
  }
  return found;
}

/**
 * The best code of each window by each score among those from `from` on and before `behind`, the smallest of equals.
 *
 * @returns for each score: `codes` and `scores` of the windows
 */
export function searchWindows(job, from = 0, behind = job.number) {
  const { seeds, rows, units, width, pieces, keeps, windows, codes } = job;
  const count = windows.length / 3;
  const vectors = 4 * BLOCK + (pieces + 3) * NUMBERS * SUMS;
  const rooms = [vectors + 2 * BLOCK * seeds.length, 8 * SCORES * count];
  const [s, r, u, k, w, c, work, found] = place(job, [seeds, rows, units, keeps, windows, codes], ...rooms);
  const best = new Int32Array(compiled.memory.buffer, found, 2 * SCORES * count).fill(-(2 ** 30));
  compiled.search(
    s, seeds.length, r, rows.length / 2, u, width, pieces, k, w, count, codes ? c : 0, from, behind, work, found,
  );
  return Array.from({ length: SCORES }, (_, score) => ({
    scores: Int32Array.from({ length: count }, (_, i) => best[2 * SCORES * i + score]),
    codes: Uint32Array.from({ length: count }, (_, i) => {
      const at = best[2 * SCORES * i + SCORES + score] >>> 0;
      return codes ? codes[at] : at;
    }),
  }));
}

/** What a job asks of the codes from `from` on and before `behind`. */
export const runJob = (job, from, behind) => (job.windows ? searchWindows : scoreCodes)(job, from, behind);

/** The answers of several threads to one job, those of smaller codes first, as one. */
export const joined = (job, answers) => (job.windows ? bestOf : inTurn)(answers);

function inTurn(answers) {
  const found = new Int32Array(answers.reduce((sum, { length }) => sum + length, 0));
  let done = 0;
  for (const answer of answers) {
    found.set(answer, done);
    done += answer.length;
  }
  return found;
}

function bestOf(answers) {
  const [first, ...others] = answers;
  for (const other of others) {
    first.forEach(({ codes, scores }, s) => {
      for (let w = 0; w < scores.length; w++) {
        if (other[s].scores[w] <= scores[w]) continue;
        scores[w] = other[s].scores[w];
        codes[w] = other[s].codes[w];
      }
    });
  }
  return first;
}
