/** 12 Statistics: the null of a score, and p-values. */

/** Below this a p-value is not told apart from it. */
const LEAST = 1e-300;

/** `P(S >= score)`: `S` the sum over contexts of a term that is uniform over the context's row of units. */
export function tail(rows, score) {
  const [least, shares] = distribution(rows);
  let sum = 0;
  for (let i = shares.length - 1; i >= Math.max(0, score - least); i--) sum += shares[i];
  return Math.min(1, sum);
}

/** `P(S > score) + u * P(S = score)`, for one code that was chosen beforehand: exactly uniform. */
export const randomised = (rows, score, u) => (1 - u) * tail(rows, score + 1) + u * tail(rows, score);

/** The least sum, and the probabilities of it and of those above. */
function distribution(rows) {
  let [least, whole] = [0, Float64Array.of(1)];
  for (const row of rows) {
    const [low, shares] = histogram(row);
    least += low;
    if (shares.length > 1) whole = convolve(whole, shares);
  }
  return [least, whole];
}

/** The least value of a row and the shares of it and of those above. */
function histogram(row) {
  const low = row.reduce((a, b) => Math.min(a, b), Infinity);
  const high = row.reduce((a, b) => Math.max(a, b), -Infinity);
  const shares = new Float64Array(high - low + 1);
  for (const value of row) shares[value - low] += 1 / row.length;
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

/** `min(1, K * P)`, not below 1e-300. */
export const pValue = (probability, tests) => Math.max(LEAST, Math.min(1, tests * probability));
