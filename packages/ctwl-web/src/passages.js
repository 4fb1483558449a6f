/** 10.3 Spans: where in a text the codes begin and end, out of windows that may overlap. */
import { LEAST } from "./null.js";
import { SCORES, SPANS } from "./numbers.js";

/** A span ends where the evidence for its code falls by more than this, in units. */
const DROP = SPANS.fall * SCORES.nat;
/** What a position is worth that belongs to another span. */
const TAKEN = SPANS.taken;

/** By p-value; at the least one that is reported, by the distance of the score from a wrong code's. */
function clearestFirst(a, b) {
  if (a.p !== b.p) return a.p - b.p;
  return a.p <= LEAST ? a.expected - a.score - (b.expected - b.score) : 0;
}

/**
 * Spans `{start, end, candidate}`, in the text's order.
 *
 * @param length the number of positions
 * @param passed the candidates that passed the test
 * @param gap two spans of one code become one where at most this number of positions lies between them
 * @param contributions what every position says for a candidate's codes, 0 where a pair of context and token comes back
 */
export function passages(length, passed, gap, contributions) {
  const spans = [];
  const free = new Uint8Array(length).fill(1);
  for (const candidate of passed.toSorted(clearestFirst)) {
    const { from, behind, code } = candidate;
    // The same passage, less clearly; or other spans hold most of its evidence.
    if (spans.some((span) => span.candidate.code === code && span.start < behind && from < span.end)) continue;
    if (2 * free.subarray(from, behind).reduce((a, b) => a + b, 0) < behind - from) continue;
    const values = contributions(candidate).map((value, i) => (free[i] ? value : TAKEN));
    const [start, end] = extent(values, from, behind);
    if (start >= end) continue;
    free.fill(0, start, end);
    spans.push({ start, end, candidate });
  }
  return joined(spans.sort((a, b) => a.start - b.start), gap);
}

/** The stretch with the most evidence inside a window; empty where there is none. */
function extent(values, from, behind) {
  const sums = new Float64Array(values.length + 1);
  for (let i = 0; i < values.length; i++) sums[i + 1] = sums[i] + values[i];
  let [found, most] = [[from, from], -Infinity];
  for (const [first, last] of growing(values)) {
    if (first >= behind || last <= from) continue;
    const inside = sums[Math.min(last, behind)] - sums[Math.max(first, from)];
    if (inside > most) [found, most] = [[first, last], inside];
  }
  return found;
}

/** The stretches over which the sum of the values grows without a fall of more than {@link DROP}. */
function growing(values) {
  const found = [];
  let [sum, peak, start, end] = [0, 0, 0, 0];
  for (let i = 0; i <= values.length; i++) {
    sum += i < values.length ? values[i] : -DROP - 1;
    if (sum > peak) [peak, end] = [sum, i + 1];
    if (sum > 0 && peak - sum <= DROP) continue;
    if (peak > 0) found.push([start, end]);
    [sum, peak, start] = [0, 0, i + 1];
  }
  return found;
}

function joined(spans, gap) {
  const found = [];
  for (const span of spans) {
    const last = found.at(-1);
    if (last && last.candidate.code === span.candidate.code && span.start - last.end <= gap) {
      last.end = span.end;
      if (span.candidate.p < last.candidate.p) last.candidate = span.candidate;
    } else found.push(span);
  }
  return found;
}
