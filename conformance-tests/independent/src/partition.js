/** 7 Partition. Sums of weights stay below 2^53; products with sigma's terms need bigint. */
import NUMBERS from "../../../spec/numbers.json" with { type: "json" };
import { fmix32, G, rank } from "../../../packages/ctwl-web/src/hashing.js";

/** 7.1 Weights of logits: `|V|` integers. */
export function modelWeights(logits, vocabulary, weightBits, special = []) {
  const shown = Float64Array.from(Float32Array.from(logits.slice(0, vocabulary)));
  const largest = shown.reduce((a, b) => Math.max(a, b), -Infinity);
  const shares = shown.map((logit) => Math.exp(logit - largest));
  const total = shares.reduce((a, b) => a + b, 0);
  const weights = shares.map((share) => Math.floor((share / total) * 2 ** weightBits + 0.5));
  for (const id of special) if (id < weights.length) weights[id] = 0;
  return weights;
}

/** 7.1 Weights without a proxy LM. */
export function uniformWeights(vocabulary, special = []) {
  const weights = new Float64Array(vocabulary).fill(1);
  for (const id of special) weights[id] = 0;
  return weights;
}

/** 7.3 Toy weights behind a prefix. */
export function toyWeights(window, vocabulary, special = []) {
  let s = 0;
  for (const token of window) s = fmix32(Math.imul(s + token + 1, G));
  const weights = new Float64Array(vocabulary).fill(1);
  for (let v = 32; v <= 126 && v < vocabulary; v++) {
    weights[v] = Math.floor(2 ** 22 / (1 + (fmix32(s ^ Math.imul(v, G)) % 64)));
  }
  for (const id of special) weights[id] = 0;
  return weights;
}

export const total = (weights) => weights.reduce((a, b) => a + b, 0);

/** 7.2 `before` of every token under a permutation. */
export function ranksBelow(weights, seed) {
  const order = Array.from(weights.keys()).sort((a, b) => rank(seed, a) - rank(seed, b));
  const below = new Float64Array(weights.length);
  let sum = 0;
  for (const token of order) {
    below[token] = sum;
    sum += weights[token];
  }
  return below;
}

/** 7.2 Whether a token with `below` ranked before it is a member. */
export function isMember(below, all, [numerator, denominator]) {
  return BigInt(below) * BigInt(denominator) < BigInt(all) * BigInt(numerator);
}

/** 7.4 The tokens that could well have stood where one stands, that one among them: `[id, weight]` each, ascending. */
export function rivals(weights, token, all) {
  return Array.from(weights, (weight, id) => [id, Math.max(weight, 1)]).filter(
    ([id]) => weights[id] * NUMBERS.rivals.share.value >= all || id === token,
  );
}
