/** 10.1 Units: what a token says for each colour, against its rivals. */
import NUMBERS from "../../../spec/numbers.json" with { type: "json" };
import { rank } from "../../../packages/ctwl-web/src/hashing.js";

/** The share of the positions that is taken to be unmarked; by which part of the mass the border is uncertain. */
const [UNMARKED, RAMP, NAT] = [NUMBERS.scores.unmarked.value, NUMBERS.scores.ramp.value, NUMBERS.scores.nat.value];

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

/** What a writer's race among rivals says of each: how likely it was to arrive first. */
function chances(p, x, rest) {
  const speeds = p.map((mass, w) => mass / -Math.log1p(-x[w]));
  const whole = rest + sum(speeds);
  return speeds.map((speed) => speed / whole);
}

/** How far each rival lies in the first half of the mass, over the share of the half. */
function inside(p, x, rest, share) {
  const found = new Float64Array(p.length);
  const ramp = RAMP[0] + RAMP[1] * Math.sqrt(sum(p.map((mass) => mass * mass)));
  let before = 0;
  for (const w of Array.from(p.keys()).sort((a, b) => x[a] - x[b])) {
    const reached = (share + ramp - before - rest * x[w]) / (p[w] + 2 * ramp);
    found[w] = Math.min(Math.max(reached, 0), 1) / share;
    before += p[w];
  }
  return Array.from(found);
}

/**
 * The units of a token under each colour: `{half, race}`, eighths of a nat of a log-likelihood ratio.
 *
 * @param rivals `[id, weight]` of each, the token among them
 * @param seeds of the permutations
 */
export function units(rivals, token, total, seeds, [numerator, denominator]) {
  const p = rivals.map(([, weight]) => weight / total);
  const rest = Math.max(1 - sum(p), 0);
  const shown = rivals.findIndex(([id]) => id === token);
  const ranks = Array.from(seeds, (seed) => rivals.map(([id]) => (rank(seed, id) + 0.5) / 2 ** 32));
  const races = ranks.map((x) => chances(p, x, rest));
  const usual = p.map((_, w) => sum(races.map((row) => row[w])) / races.length);

  /** A ratio over its mean under what the model expects. */
  function unit(row) {
    const ratio = row.map((value) => (1 - UNMARKED) * value + UNMARKED);
    return Math.floor(NAT * Math.log(ratio[shown] / (rest + sum(ratio.map((value, w) => value * p[w])))) + 0.5);
  }
  return {
    half: ranks.map((x) => unit(inside(p, x, rest, numerator / denominator))),
    race: races.map((row) => unit(row.map((value, w) => value / usual[w]))),
  };
}
