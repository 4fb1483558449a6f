/** 10, the compatibility mode: the paper's test. It compares codes with each other and is no false-positive rate. */

const LENGTH = 200;
const STRIDE = 50;
const FOUND = 1 - 1e-5;

/** Its windows: every 50 positions, and the last one that fits; all of a shorter text. */
export function posteriorWindows(positions) {
  if (positions <= LENGTH) return positions > 0 ? [[0, positions]] : [];
  const starts = Array.from({ length: Math.floor((positions - LENGTH) / STRIDE) + 1 }, (_, i) => i * STRIDE);
  if (starts.at(-1) + LENGTH < positions) starts.push(positions - LENGTH);
  return starts.map((start) => [start, start + LENGTH]);
}

/** The posterior of the best of all codes, and whether it is found. */
export function posterior(scores) {
  const best = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const share = 1 / scores.reduce((sum, score) => sum + Math.exp(score - best), 0);
  return { posterior: share, found: share >= FOUND };
}
