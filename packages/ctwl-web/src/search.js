/**
 * 10, step 6: scores of all codes. The only loops that have to be quick: fmix32 is written out, and codes go by in
 * blocks, so that what is written stays in the processor's cache.
 */
import { G } from "./hashing.js";

/** The colours of codes at a context, those of `codes` from `from` on. */
function colours(seed, count, codes, from, into, length) {
  const scale = count / 2 ** 32;
  for (let i = 0; i < length; i++) {
    let x = seed ^ Math.imul(codes ? codes[from + i] : (from + i) | 0, G);
    x ^= x >>> 16;
    x = Math.imul(x, 0x85ebca6b);
    x ^= x >>> 13;
    x = Math.imul(x, 0xc2b2ae35);
    x ^= x >>> 16;
    into[i] = ((x >>> 0) * scale) | 0; // exact: the product has at most 44 bits
  }
}

const BLOCK = 4096;

/** The scores of codes over a table, of all below `2^bits` where `codes` is null. */
export function scoreAll({ seeds, rows }, codes, bits) {
  const scores = new Int32Array(codes ? codes.length : 2 ** bits);
  const chosen = new Uint16Array(BLOCK);
  for (let from = 0; from < scores.length; from += BLOCK) {
    const block = scores.subarray(from, from + BLOCK);
    rows.forEach((row, r) => {
      colours(seeds[r], row.length, codes, from, chosen, block.length);
      for (let i = 0; i < block.length; i++) block[i] += row[chosen[i]];
    });
  }
  return scores;
}

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

/** Numbers of sums that a block of codes keeps: they fit into the second-level cache. */
const SUMS = 2 ** 17;
/** Sums of units that differ by less than this fit a half of a number of 32 bits, with its highest bit to spare. */
const REACH = 2 ** 15;
/** The highest bit of each half. */
const HIGHEST = 0x80008000 | 0;

/**
 * What the best code of each window is asked of: plain data, which goes to another thread as it is.
 *
 * @param text a ScoredText
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
    const cell = 4 * pieceOf[i] + text.zeros[i] - 1;
    const name = cell * 2 ** 24 + text.contextOf[i];
    if (!cells.has(name)) cells.set(name, []);
    cells.get(name).push(i);
  }
  const rows = Array.from(cells.entries()).sort(([a], [b]) => a - b);
  const { colours: width, code_bits: bits } = text.profile;
  const units = scores.map(() => new Int32Array(rows.length * width));
  // The least and the greatest sum of each score.
  const ranges = scores.map(() => [0, 0]);
  rows.forEach(([, places], r) => {
    scores.forEach((score, s) => {
      const row = units[s].subarray(r * width, (r + 1) * width);
      for (const i of places) for (let a = 0; a < width; a++) row[a] += text.units[score][i][a];
      ranges[s][0] += Math.min(0, ...row);
      ranges[s][1] += Math.max(0, ...row);
    });
  });
  const packs = scores.length === 2 && ranges.every(([least, most]) => most - least < REACH);
  if (packs) for (let i = 0; i < units[0].length; i++) units[0][i] += units[1][i] << 16;
  return {
    seeds: text.colourSeeds(),
    contexts: Int32Array.from(rows, ([name]) => name % 2 ** 24),
    cells: Int32Array.from(rows, ([name]) => Math.floor(name / 2 ** 24)),
    pieces: Math.max(cuts.length - 1, 0),
    units: packs ? [units[0]] : units,
    least: ranges.map(([least]) => least),
    width,
    windows: Int32Array.from(windows.flatMap(([n, from, behind]) => [n, place.get(from), place.get(behind)])),
    codes,
    number: codes ? codes.length : 2 ** bits,
  };
}

/**
 * The best code of each window by each score among those from `from` on and before `behind`, the smallest of equals.
 *
 * @param tick called now and then with the number of codes that have gone by
 * @returns for each score: `codes` and `scores` of the windows
 */
export function searchWindows(job, from = 0, behind = job.number, tick = () => {}) {
  const count = job.windows.length / 3;
  const found = job.least.map(() => ({ codes: new Uint32Array(count), scores: new Int32Array(count).fill(-(2 ** 30)) }));
  if (job.units.length < found.length) search(job, job.units[0], new BestOfTwo(found, job), from, behind, tick);
  else job.units.forEach((units, s) => search(job, units, new BestOfOne(found[s], job), from, behind, tick));
  return found;
}

function search({ seeds, contexts, cells, pieces, width, windows, codes }, units, best, from, behind, tick) {
  const used = Array.from(new Set(contexts));
  const line = new Int32Array(seeds.length);
  used.forEach((context, i) => (line[context] = i));
  const block = Math.max(16, Math.min(256, 2 ** Math.floor(Math.log2(SUMS / (4 * pieces + 4)))));
  const chosen = new Uint16Array(used.length * block);
  const sums = new Int32Array(4 * pieces * block);
  const running = new Int32Array(4 * block);
  // For each number of codes, the sums before each cut that a window needs.
  const before = Array.from({ length: 4 }, () => new Int32Array((pieces + 1) * block));
  const cuts = before.map((_, k) => {
    const own = new Set();
    for (let w = 0; w < windows.length; w += 3) if (windows[w] === k + 1) own.add(windows[w + 1]).add(windows[w + 2]);
    return own;
  });
  for (let first = from; first < behind; first += block) {
    const length = Math.min(block, behind - first);
    for (let i = 0; i < used.length; i++) {
      colours(seeds[used[i]], width, codes, first, chosen.subarray(i * block, i * block + length), length);
    }
    sums.fill(0);
    for (let r = 0; r < cells.length; r++) {
      const [into, one] = [cells[r] * block, line[contexts[r]] * block];
      if (cells[r] !== cells[r + 2]) addRow(sums, into, units, r * width, chosen, one, length);
      else {
        const [two, three] = [line[contexts[r + 1]] * block, line[contexts[r + 2]] * block];
        addRows(sums, into, units, r * width, width, chosen, one, two, three, length);
        r += 2;
      }
    }
    running.fill(0);
    for (let piece = 0; piece < pieces; piece++) {
      addPiece(running, sums, 4 * piece * block, block, length);
      for (let k = 0; k < 4; k++) {
        if (!cuts[k].has(piece + 1)) continue;
        before[k].set(running.subarray(k * block, k * block + length), (piece + 1) * block);
      }
    }
    for (let w = 0; 3 * w < windows.length; w++) {
      best.see(w, before[windows[3 * w] - 1], windows[3 * w + 1] * block, windows[3 * w + 2] * block, first, length);
    }
    tick(length);
  }
}

// `| 0` tells the compiler that places and sums fit 32 bits.
function addRow(sums, into, units, row, chosen, line, length) {
  for (let i = 0; i < length; i++) {
    const at = (into + i) | 0;
    sums[at] = (sums[at] + units[(row + chosen[(line + i) | 0]) | 0]) | 0;
  }
}

/** Adds three rows that follow each other. */
function addRows(sums, into, units, row, width, chosen, one, two, three, length) {
  const [next, last] = [(row + width) | 0, (row + 2 * width) | 0];
  for (let i = 0; i < length; i++) {
    const at = (into + i) | 0;
    const first = units[(row + chosen[(one + i) | 0]) | 0];
    const second = (first + units[(next + chosen[(two + i) | 0]) | 0]) | 0;
    sums[at] = (sums[at] + second + units[(last + chosen[(three + i) | 0]) | 0]) | 0;
  }
}

/** Adds a piece to the running sums of each number of codes: what carries slot 0 in records of many, in fewer too. */
function addPiece(running, sums, piece, block, length) {
  for (let i = 0; i < length; i++) {
    const [one, two, three, four] = [i, (block + i) | 0, (2 * block + i) | 0, (3 * block + i) | 0];
    let sum = sums[(piece + four) | 0];
    running[four] = (running[four] + sum) | 0;
    sum = (sum + sums[(piece + three) | 0]) | 0;
    running[three] = (running[three] + sum) | 0;
    sum = (sum + sums[(piece + two) | 0]) | 0;
    running[two] = (running[two] + sum) | 0;
    sum = (sum + sums[(piece + one) | 0]) | 0;
    running[one] = (running[one] + sum) | 0;
  }
}

/** The best codes by one score. */
class BestOfOne {
  constructor(found, { codes }) {
    this.found = found;
    this.codes = codes;
  }

  see(w, sums, low, high, first, length) {
    let most = this.found.scores[w];
    for (let i = 0; i < length; i++) {
      const score = (sums[(high + i) | 0] - sums[(low + i) | 0]) | 0;
      if (score <= most) continue;
      most = score;
      this.found.codes[w] = this.codes ? this.codes[first + i] : first + i;
    }
    this.found.scores[w] = most;
  }
}

/**
 * The best codes by two scores in the halves of one sum. The best are kept as what to take the sum from: where both stay
 * the best, the highest bit of both halves stays.
 */
class BestOfTwo {
  constructor(found, { codes, least, windows }) {
    this.found = found;
    this.codes = codes;
    this.least = least;
    this.bias = (-least[0] + (-least[1] << 16)) | 0;
    this.limits = new Int32Array(windows.length / 3).fill((HIGHEST - this.bias - 0x10001) | 0); // any sum is better
  }

  see(w, sums, low, high, first, length) {
    let limit = this.limits[w];
    for (let i = 0; i < length; i++) {
      const sum = (sums[(high + i) | 0] - sums[(low + i) | 0]) | 0;
      if (((limit - sum) & HIGHEST) !== HIGHEST) limit = this.better(w, sum, this.codes ? this.codes[first + i] : first + i);
    }
    this.limits[w] = limit;
  }

  better(w, sum, code) {
    const shifted = (sum + this.bias) | 0;
    const both = [(shifted & 0xffff) + this.least[0], (shifted >>> 16) + this.least[1]];
    const [one, two] = this.found.map(({ codes, scores }, s) => {
      if (both[s] > scores[w]) [codes[w], scores[w]] = [code, both[s]];
      return scores[w] - this.least[s];
    });
    return ((one + (two << 16)) + HIGHEST - this.bias) | 0;
  }
}

/** The answers of several threads to one job, those of smaller codes first, as one. */
export function bestOf(answers) {
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
