/** 10.1 Units: what a token says for each colour. */
import { isMember } from "./partition.js";

/** The paper's score: 1 for a member. */
export const countUnits = (below, total, sigma) => below.map((s) => (isMember(s, total, sigma) ? 1 : 0));

/** A log-likelihood ratio in eighths of a nat, for each colour: three quarters for `unbiased`, one for `delta`. */
export function softUnits(below, weight, total, sigma) {
  const [n, d, t, w] = [...sigma, total, weight].map(BigInt);
  const whole = 6n * d * w + 2n * d * t;
  const share = sigma[0] / sigma[1];
  return below.map((s) => {
    const inside = t * (6n * n + d) - 6n * d * BigInt(s);
    const clipped = inside < 0n ? 0n : inside > whole ? whole : inside;
    const q = whole === 0n ? 0 : Number((64n * clipped) / whole);
    const r = (isMember(s, total, sigma) ? 4 : 1) / (1 + 3 * share);
    return Math.round(8 * Math.log((0.8 * ((3 * q) / 64 / share + r)) / 4 + 0.2));
  });
}

/** Ranks are told apart in quarters of each doubling: from the first bound to the one behind the last. */
const DOUBLINGS = Array.from({ length: 12 }, (_, i) => 2 ** (i - 12));
const BOUNDS = [0, ...DOUBLINGS.flatMap((a) => [a, 1.25 * a, 1.5 * a, 1.75 * a]), 1];

/** The units of a token of `2^-(c + 1/2)`, for `c` from 0 to 12, at each of the intervals of ranks. */
const RANK_UNITS = Array.from({ length: 13 }, (_, c) => {
  const rates = [1, 0.6, 0.3].map((k) => 2 ** (k * (c + 0.5)));
  return BOUNDS.slice(1).map((b, i) => {
    const a = BOUNDS[i];
    const ratios = rates.map((rate) => ((1 - a) ** rate - (1 - b) ** rate) / (b - a));
    return Math.round(8 * Math.log((0.7 * (ratios[0] + ratios[1] + ratios[2])) / 3 + 0.3));
  });
});

/** The log-likelihood ratio for `gumbel`, in eighths of a nat: how low the token ranks, for one of its probability. */
export function rankUnits(ranks, weight, total) {
  let c = 0;
  while (c < 12 && weight * 2 ** (c + 1) <= total) c++;
  return ranks.map((r) => RANK_UNITS[c][BOUNDS.findIndex((bound) => r / 2 ** 32 < bound) - 1]);
}
