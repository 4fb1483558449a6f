/**
 * 10, step 6: scores of all codes. The loops are the only place that has to be quick: fmix32 is written out, and
 * `floor(x * A / 2^32)` is taken in two halves of `x`, which is exact and stays within 32 bits.
 */
import { G } from "../../../packages/ctwl-web/src/hashing.js";
import { MAX_CODES } from "../../../packages/ctwl-web/src/framing.js";

/** How many of the best codes are kept for each number of codes. */
const KEPT = 16;

/** Rows as flat arrays. */
function flat(rows, colours) {
  const units = new Int32Array(rows.length * colours);
  rows.forEach((row, i) => units.set(row.units, i * colours));
  return { seeds: Int32Array.from(rows, ({ seed }) => seed), units };
}

/** The colour of a code at a context, from `t XOR (m * G)` (6.3). */
function colourOf(x, colours) {
  x ^= x >>> 16;
  x = Math.imul(x, 0x85ebca6b);
  x ^= x >>> 13;
  x = Math.imul(x, 0xc2b2ae35);
  x ^= x >>> 16;
  return (Math.imul(x >>> 16, colours) + (Math.imul(x & 0xffff, colours) >>> 16)) >>> 16;
}

/** The score of a code over rows `from` to `behind`. */
function scoreOf(mixed, seeds, units, colours, from, behind) {
  let score = 0;
  for (let i = from, row = from * colours; i < behind; i++, row += colours) {
    const colour = colourOf(seeds[i] ^ mixed, colours);
    score = (score + units[(row + colour) | 0]) | 0;
  }
  return score;
}

/** The score of one code. */
export function score(rows, code, colours) {
  const { seeds, units } = flat(rows, colours);
  return scoreOf(Math.imul(code, G), seeds, units, colours, 0, rows.length);
}

/** The scores of all codes below `2^bits`. */
export function allScores(rows, bits, colours) {
  const { seeds, units } = flat(rows, colours);
  const scores = new Int32Array(2 ** bits);
  for (let code = 0; code < scores.length; code++) {
    scores[code] = scoreOf(Math.imul(code, G), seeds, units, colours, 0, rows.length);
  }
  return scores;
}

/** The best codes, by score and then the smallest: a short list that is kept while all go by. */
class Best {
  constructor() {
    this.list = [];
    this.least = -Infinity;
  }

  offer(code, found) {
    let at = this.list.length;
    while (at > 0 && this.list[at - 1].score < found) at--;
    this.list.splice(at, 0, { code, score: found });
    if (this.list.length > KEPT) this.list.pop();
    if (this.list.length === KEPT) this.least = this.list.at(-1).score;
  }
}

/**
 * The best codes in slot 0 for each number of codes, of rows whose `group` is the mask of numbers they count in.
 *
 * @param codes those that are searched, ascending; null for all below `2^bits`
 */
export function bestBeacons(rows, bits, colours, codes = null) {
  const sorted = rows.toSorted((a, b) => a.group - b.group);
  const { seeds, units } = flat(sorted, colours);
  const groups = [...new Set(sorted.map(({ group }) => group))].map((group) => ({
    group,
    from: sorted.findIndex((row) => row.group === group),
    behind: sorted.findLastIndex((row) => row.group === group) + 1,
  }));
  const best = Array.from({ length: MAX_CODES }, () => new Best());
  const sums = new Int32Array(MAX_CODES);
  for (let at = 0, end = codes?.length ?? 2 ** bits; at < end; at++) {
    const code = codes ? codes[at] : at;
    const mixed = Math.imul(code, G);
    sums.fill(0);
    for (const { group, from, behind } of groups) {
      const part = scoreOf(mixed, seeds, units, colours, from, behind);
      for (let i = 0; i < MAX_CODES; i++) if (group & (1 << i)) sums[i] += part;
    }
    for (let i = 0; i < MAX_CODES; i++) if (sums[i] > best[i].least) best[i].offer(code, sums[i]);
  }
  return best.map(({ list }) => list);
}

/** Windows start and end at multiples of this many positions (10.2). */
const STEP = 8;

/**
 * The preliminary search of 10.2: the best code of each window where every position counts, with its score.
 *
 * @param found positions with `seed` (of slot 0), `units` and `mask`
 * @param lists for each number of codes, its windows
 * @param codes those that are searched, ascending; null for all below `2^bits`
 */
export function windowBests(found, lists, bits, colours, codes = null) {
  const { seeds, units } = flat(found, colours);
  const masks = Uint8Array.from(found, ({ mask }) => mask);
  const chunks = Math.floor(found.length / STEP);
  const sums = Array.from({ length: MAX_CODES }, () => new Int32Array(chunks + 1));
  const [s1, s2, s3, s4] = sums;
  const flatLists = lists.map((list, i) => ({
    from: Int32Array.from(list, ([from]) => from / STEP),
    behind: Int32Array.from(list, ([, behind]) => behind / STEP),
    sums: sums[i],
    codes: new Int32Array(list.length),
    scores: new Int32Array(list.length).fill(-(2 ** 30)),
  }));
  for (let at = 0, end = codes?.length ?? 2 ** bits; at < end; at++) {
    const code = codes ? codes[at] : at;
    const mixed = Math.imul(code, G);
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let chunk = 0, i = 0, row = 0; chunk < chunks; chunk++) {
      for (const end = i + STEP; i < end; i++, row += colours) {
        const colour = colourOf(seeds[i] ^ mixed, colours);
        const unit = units[(row + colour) | 0];
        const mask = masks[i];
        if (mask & 1) a = (a + unit) | 0;
        if (mask & 2) b = (b + unit) | 0;
        if (mask & 4) c = (c + unit) | 0;
        if (mask & 8) d = (d + unit) | 0;
      }
      s1[chunk + 1] = a;
      s2[chunk + 1] = b;
      s3[chunk + 1] = c;
      s4[chunk + 1] = d;
    }
    for (const list of flatLists) {
      for (let w = 0; w < list.from.length; w++) {
        const sum = list.sums[list.behind[w]] - list.sums[list.from[w]];
        if (sum > list.scores[w]) {
          list.scores[w] = sum;
          list.codes[w] = code;
        }
      }
    }
  }
  return flatLists.map(({ codes, scores }) => Array.from(codes, (code, w) => ({ code, score: scores[w] })));
}
