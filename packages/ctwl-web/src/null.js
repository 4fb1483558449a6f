/** 12 Statistics: the null of a score, and p-values. */
import { NULL } from "./numbers.js";

/** Below this a p-value is not told apart from it. */
export const LEAST = NULL.floor;
/** What is left out of a convolution at each end, of a whole of 1: below the last digit of any tail. */
const NOTHING = 1e-20;
/** The steepest tilt. */
const STEEPEST = NULL.steepest;

/**
 * What the null is made of: the least sum, and for each context the shares of its units from the least on.
 *
 * @param rows for each context, its units by colour
 */
export function steps(rows) {
  const found = Array.from(rows, histogram);
  return {
    least: found.reduce((sum, [low]) => sum + low, 0),
    shares: found.map(([, shares]) => shares).filter((shares) => shares.length > 1),
  };
}

/** `P(S >= score)`: `S` the sum over contexts of a term that is uniform over the context's row of units. */
export const tail = (rows, score) => tailOf(steps(rows), score);

/**
 * The same, of {@link steps}. The distribution is tilted until the score is its mean (Esscher's transform): its tail is
 * then near its middle, and what lies far from there need not be convolved. The tilt is then undone.
 */
export function tailOf({ least, shares }, score) {
  const above = score - least;
  if (above <= 0) return 1;
  const most = shares.reduce((sum, row) => sum + row.length - 1, 0);
  if (above > most) return 0;
  const tilt = tilted(shares, above).tilt;
  let [from, whole, logMass] = [0, Float64Array.of(1), 0];
  for (const row of shares) {
    const lowered = row.map((share, i) => share * Math.exp(-tilt * (row.length - 1 - i)));
    const mass = lowered.reduce((a, b) => a + b, 0);
    logMass += Math.log(mass);
    const next = convolve(whole, lowered.map((share) => share / mass));
    let [first, behind] = [0, next.length];
    while (next[first] < NOTHING) first++;
    while (next[behind - 1] < NOTHING) behind--;
    whole = next.subarray(first, behind);
    from += first;
  }
  let sum = 0;
  for (let i = whole.length - 1; i >= Math.max(0, above - from); i--) sum += whole[i] * Math.exp(tilt * (above - from - i));
  return Math.min(1, Math.exp(logMass + tilt * (most - above) + Math.log(sum)));
}

/**
 * About the logarithm of the tail, within a few tenths, in a small part of the time (Bahadur and Rao's approximation).
 */
export function approximateLogTail({ least, shares }, score) {
  const above = score - least;
  const { tilt, logMass, variance } = tilted(shares, above);
  if (above <= 0 || tilt === 0) return Math.log(0.5);
  const spread = (1 - Math.exp(-tilt)) * Math.sqrt(variance);
  return logMass - tilt * above + Math.log(2 / (Math.sqrt(2 * Math.PI) * (spread + Math.sqrt(spread ** 2 + 8 / Math.PI))));
}

/**
 * The tilt under which the mean is `above`, 0 where it is at least that without, with the logarithm of the mass. A row's
 * highest score keeps its chance, and those below it lose: nothing overflows, however wide a row is.
 */
function tilted(shares, above) {
  const widest = shares.reduce((most, row) => Math.max(most, row.length), 1);
  const lower = new Float64Array(widest);
  const moments = (tilt) => {
    for (let i = 0; i < widest; i++) lower[i] = Math.exp(-tilt * i);
    let [logMass, mean, variance] = [0, 0, 0];
    for (const row of shares) {
      let [mass, first, second] = [0, 0, 0];
      const top = row.length - 1;
      for (let i = 0; i <= top; i++) {
        const share = row[i] * lower[top - i];
        mass += share;
        first += share * i;
        second += share * i * i;
      }
      logMass += Math.log(mass) + tilt * top;
      mean += first / mass;
      variance += second / mass - (first / mass) ** 2;
    }
    return { tilt, logMass, mean, variance };
  };
  let [low, high, found] = [0, STEEPEST, moments(0)];
  if (found.mean >= above) return found;
  // Newton's steps, inside of what is known of the answer.
  for (let i = 0; i < 60 && Math.abs(found.mean - above) > 1e-3 && high - low > 1e-12; i++) {
    if (found.mean < above) low = found.tilt;
    else high = found.tilt;
    const next = found.tilt + (above - found.mean) / found.variance;
    found = moments(next > low && next < high ? next : (low + high) / 2);
  }
  return found;
}

/** `P(S > score) + u * P(S = score)`, for one code that was chosen beforehand: exactly uniform. */
export const randomised = (rows, score, u) => (1 - u) * tail(rows, score + 1) + u * tail(rows, score);

/** The least value of a row and the shares of it and of those above. */
function histogram(row) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of row) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  const shares = new Float64Array(high - low + 1);
  for (const value of row) shares[value - low]++;
  for (let i = 0; i < shares.length; i++) shares[i] /= row.length;
  return [low, shares];
}

function convolve(distribution, shares) {
  const result = new Float64Array(distribution.length + shares.length - 1);
  for (let j = 0; j < shares.length; j++) {
    const share = shares[j];
    if (share === 0) continue;
    for (let i = 0; i < distribution.length; i++) result[i + j] += share * distribution[i];
  }
  return result;
}

/** `P` of the highest score that there is: nothing shows less chance. */
export function greatestTail(rows) {
  return rows.reduce((product, row) => {
    const high = row.reduce((a, b) => Math.max(a, b), -Infinity);
    return (product * row.filter((unit) => unit === high).length) / row.length;
  }, 1);
}

/** The approximation of a tail and the tail differ by less than this, in natural logarithms. */
export const SLACK = 1;

/** {@link pValue} of a score, which is 1 for most; it takes little to see that. */
export function pValueOf(rows, score, tests) {
  const own = steps(rows);
  const clear = Math.log(tests) + approximateLogTail(own, score) >= SLACK;
  return clear ? 1 : pValue(tailOf(own, score), tests);
}

/** `min(1, K * P)`, not below {@link LEAST}. */
export const pValue = (probability, tests) => Math.max(LEAST, Math.min(1, tests * probability));
