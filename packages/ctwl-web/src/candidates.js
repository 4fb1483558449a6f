/** 10.2: the whole text's best code, and those of the windows that are most likely to carry one, with their p-values. */
import { approximateLogTail, pValue, SLACK, steps, tailOf } from "./null.js";
import { SEARCH } from "./numbers.js";
import { expected, scoreOf } from "./scored.js";
import { windowJob } from "./search.js";
import { isWholeTested, tests, windows } from "./windows.js";

/** In the search for candidates a (context, token) pair counts again after so many positions. */
const REPEAT_DISTANCE = SEARCH.repeat_distance;
/** Fewest windows that get an exact p-value, and the standard deviations above the mean from which every one does. */
const { evaluated: EVALUATED, standard_scores: STANDARD_SCORE } = SEARCH;

/**
 * Candidates: `{from, behind, n, code, by, score, tests, chance, p, codes, number, parts}`. `chance` is exact where `p` is below 1.
 *
 * @param text a ScoredText
 * @param codeSets `{codes, number, parts, share}` each: codes, null for all, for how many codes the tests pay, how many
 *   times those of the set that is, their share of the level
 * @param scores the scores with their shares of the level
 * @param numbers the numbers of codes that a record may have
 * @param search asks a job of {@link windowJob}
 */
export async function findCandidates(text, codeSets, scores, numbers, search) {
  const { length } = text;
  const whole = isWholeTested(length) ? [[0, length]] : [];
  const grids = numbers.map((n) => [...whole, ...windows(length, n)].map(([from, behind]) => [n, from, behind]));
  const all = grids.flat();
  const counted = length > REPEAT_DISTANCE ? text.countedApart(REPEAT_DISTANCE) : text.counted(text.carrying(1, 0));
  const names = Object.keys(scores);
  const tables = new Map(); // several sets of codes share their sums
  const tableOf = (by, n, from, behind) => {
    const name = `${by}|${n}|${from}|${behind}`;
    if (!tables.has(name)) {
      const table = text.table(by, text.carrying(n, 0, from, behind));
      tables.set(name, { ...table, steps: steps(table.rows) });
    }
    return tables.get(name);
  };
  const found = [];
  for (const { codes, number, parts, share } of codeSets) {
    const bests = await search(windowJob(text, names, counted, all, codes));
    names.forEach((by, s) => {
      let first = 0;
      numbers.forEach((n, k) => {
        const grid = grids[k].map(([, from, behind], i) => ({
          from, behind, code: bests[s].codes[first + i], score: bests[s].scores[first + i],
        }));
        first += grid.length;
        const paid = tests(length, n, number, 1, numbers.length, share * scores[by]);
        const add = ({ from, behind, code }, times) => {
          found.push(new Candidate({ from, behind, n, code, by, tests: times, codes, number, parts }, tableOf(by, n, from, behind)));
        };
        for (const window of grid.slice(0, whole.length)) add(window, paid.whole);
        const likely = mostPromising(text, by, n, counted, grid.slice(whole.length));
        for (const window of outermost(likely)) add(window, paid.window);
      });
    });
  }
  return found;
}

/** A window's best code, with its exact p-value. */
export class Candidate {
  constructor(fields, table) {
    Object.assign(this, { reading: null, beacons: 0 }, fields);
    this.score = scoreOf(table, this.code);
    this.expected = expected(table);
    const about = Math.exp(approximateLogTail(table.steps, this.score));
    // Of most windows the p-value is 1, and it takes little to see that.
    const clear = this.tests * about >= Math.exp(SLACK);
    this.chance = clear ? about : tailOf(table.steps, this.score);
    this.p = clear ? 1 : pValue(this.chance, this.tests);
  }
}

/** Whether a candidate goes before another: by p-value, then by the expected number of wrong codes that score as high. */
export const before = (a, b) => a.p - b.p || a.tests * a.chance - b.tests * b.chance;

/** The windows that get an exact p-value, best first, by the distance of their best codes from a wrong code's mean. */
function mostPromising(text, by, n, counted, grid) {
  if (grid.length === 0) return [];
  const [mean, variance] = [new Float64Array(text.length + 1), new Float64Array(text.length + 1)];
  for (const i of counted) {
    if (text.slots[i][n - 1] !== 0) continue;
    const units = text.units[by][i];
    let [sum, squares] = [0, 0];
    for (const unit of units) {
      sum += unit;
      squares += unit * unit;
    }
    mean[i + 1] = sum / units.length;
    variance[i + 1] = squares / units.length - mean[i + 1] ** 2;
  }
  for (let i = 0; i < text.length; i++) {
    mean[i + 1] += mean[i];
    variance[i + 1] += variance[i];
  }
  const standard = grid.map(({ from, behind, score }) => {
    const spread = Math.sqrt(Math.max(variance[behind] - variance[from], 1e-9));
    return (score - (mean[behind] - mean[from])) / spread;
  });
  const order = grid.map((_, i) => i).sort((a, b) => standard[b] - standard[a] || a - b);
  const many = standard.filter((distance) => distance > STANDARD_SCORE[by]).length;
  return order.slice(0, Math.max(EVALUATED, many)).map((i) => grid[i]);
}

/** Windows, best first, without those inside a better window of the same code. */
function outermost(found) {
  const kept = [];
  for (const one of found) {
    const inside = (other) => other.code === one.code && other.from <= one.from && one.behind <= other.behind;
    if (!kept.some(inside)) kept.push(one);
  }
  return kept;
}
