/** 12: e-values. */
import NUMBERS from "../../../spec/numbers.json" with { type: "json" };

const NAT = NUMBERS.scores.nat.value;
const SHARES = NUMBERS.scores.unmarked_contexts.value;

/** The logarithm of a sum whose terms are given by their logarithms. */
function logSum(values) {
  const top = Math.max(...values);
  return top + Math.log(values.reduce((sum, value) => sum + Math.exp(value - top), 0));
}

/** The natural logarithm of a code's e-value: the mean, over the shares, of the product of its ratios in each context. */
export function logEValue(units) {
  const product = (share) => units.reduce((sum, one) => sum + logSum([Math.log1p(-share) + one / NAT, Math.log(share)]), 0);
  return logSum(SHARES.map(product)) - Math.log(SHARES.length);
}
