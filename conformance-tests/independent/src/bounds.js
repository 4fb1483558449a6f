/** 10.2, the preliminary search: a quick upper bound of a window's tail, by Chernoff. */

const THETAS = Array.from({ length: 40 }, (_, i) => 0.01 * 1.12 ** i);

/**
 * A function of a window and a score that bounds `ln P(S >= score)`.
 *
 * @param rows units of each position, null where a position does not take part
 */
export function tailBounds(rows) {
  // The logarithm of the moment generating function of all positions before each, for every theta.
  const sums = THETAS.map((theta) => {
    const sum = new Float64Array(rows.length + 1);
    rows.forEach((row, i) => (sum[i + 1] = sum[i] + (row ? logMoment(row, theta) : 0)));
    return sum;
  });
  return (from, behind, score) => {
    let least = 0;
    THETAS.forEach((theta, k) => (least = Math.min(least, sums[k][behind] - sums[k][from] - theta * score)));
    return least;
  };
}

function logMoment(row, theta) {
  let sum = 0;
  for (const unit of row) sum += Math.exp(theta * unit);
  return Math.log(sum / row.length);
}
