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
