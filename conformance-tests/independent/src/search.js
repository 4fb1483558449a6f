/** 10, step 6: scores of all codes. The sums over all codes are the browser reader's, which are compiled. */
import { colour } from "../../../packages/ctwl-web/src/hashing.js";
import { MAX_CODES } from "../../../packages/ctwl-web/src/framing.js";
import { scoreCodes, scoreJob, searchWindows, windowJob } from "../../../packages/ctwl-web/src/search.js";

/** How many of the best codes are kept for each number of codes. */
const KEPT = 16;

/** What one code scores in each row. */
export const unitsFor = (rows, code, colours) => rows.map(({ seed, units }) => units[colour(seed, code, colours)]);

/** The score of one code. */
export const score = (rows, code, colours) => unitsFor(rows, code, colours).reduce((sum, units) => sum + units, 0);

/** The scores of some codes, ascending; of all below `2^bits` where these are null. */
export function allScores(rows, bits, codes = null) {
  const table = { seeds: Int32Array.from(rows, ({ seed }) => seed), rows: rows.map(({ units }) => units) };
  return scoreCodes(scoreJob(table, codes && Uint32Array.from(codes), bits));
}

/** The best codes, by score and then the smallest: a short list that is kept while all go by. */
function best(scores, codes) {
  const list = [];
  let least = -Infinity;
  for (let i = 0; i < scores.length; i++) {
    if (scores[i] <= least) continue;
    let at = list.length;
    while (at > 0 && list[at - 1].score < scores[i]) at--;
    list.splice(at, 0, { code: codes ? codes[i] : i, score: scores[i] });
    if (list.length > KEPT) list.pop();
    if (list.length === KEPT) least = list.at(-1).score;
  }
  return list;
}

/**
 * The best codes in slot 0 for each number of codes, of rows whose `group` is the mask of numbers they count in.
 *
 * @param codes those that are searched, ascending; null for all below `2^bits`
 */
export function bestBeacons(rows, bits, codes = null) {
  const sums = Array.from({ length: MAX_CODES }, () => new Int32Array(codes?.length ?? 2 ** bits));
  for (const group of new Set(rows.map((row) => row.group))) {
    const scores = allScores(rows.filter((row) => row.group === group), bits, codes);
    for (const sum of sums.filter((_, i) => group & (1 << i))) for (let k = 0; k < sum.length; k++) sum[k] += scores[k];
  }
  return sums.map((sum) => best(sum, codes));
}

/**
 * The preliminary search of 10.2: the best code of each window where every position counts, with its score.
 *
 * @param found positions with `seed` (of slot 0), `units` and `zeros`, in how many numbers of codes each carries slot 0
 * @param lists for each number of codes, its windows
 * @param codes those that are searched, ascending; null for all below `2^bits`
 */
export function windowBests(found, lists, bits, colours, codes = null) {
  const seeds = Array.from(new Set(found.map(({ seed }) => seed)));
  const place = new Map(seeds.map((seed, i) => [seed, i]));
  const text = {
    length: found.length,
    zeros: found.map(({ zeros }) => zeros),
    contextOf: found.map(({ seed }) => place.get(seed)),
    units: { own: found.map(({ units }) => units) },
    profile: { colours, code_bits: bits },
    colourSeeds: () => Int32Array.from(seeds),
  };
  const windows = lists.flatMap((list, i) => list.map(([from, behind]) => [i + 1, from, behind]));
  const job = windowJob(text, ["own", "own"], Array.from(found.keys()), windows, codes && Uint32Array.from(codes));
  const [{ codes: bests, scores }] = searchWindows(job);
  let first = 0;
  return lists.map((list) => list.map(() => ({ code: bests[first], score: scores[first++] })));
}
