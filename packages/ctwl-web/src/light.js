/** 10.5 The light scores: what a token's rank shows of a code where no language model weighs the vocabulary. */
import { LIGHT, SCORES, SEARCH } from "./numbers.js";

/** Ranks are told apart in `2^STEP_BITS` equal steps; the first step in doublings, too. */
const { step_bits: STEP_BITS, doublings: DOUBLINGS } = LIGHT;
/** The border of the half is uncertain by this part of all ranks, to both sides. */
const RAMP = LIGHT.ramp;
/**
 * A probability `2^-(k + 1)` of what `race` wrote is taken to be so many times as likely as `2^-k`: of the rarest tokens,
 * and less for each halving of the id.
 */
const { likelier: LIKELIER, halving: HALVING } = LIGHT;
/** The least probability of the mixture is `2^-RAREST`. */
const RAREST = STEP_BITS + DOUBLINGS - 1;
/** The share of positions that are not marked, and the units of one nat. */
const { unmarked: UNMARKED, nat: NAT } = SCORES;

/** The share of the level of each light score, where a text is read by these alone (10.2). */
export const LIGHT_SHARES = SEARCH.light_shares;

const BOUNDS = [
  0,
  ...Array.from({ length: DOUBLINGS }, (_, i) => 2 ** (i - STEP_BITS - DOUBLINGS)),
  ...Array.from({ length: 2 ** STEP_BITS }, (_, i) => (i + 1) / 2 ** STEP_BITS),
];

const bits = (number) => 32 - Math.clz32(number);

const unitsOf = (ratio) => Int8Array.from(BOUNDS.slice(1), (y, i) => Math.round(NAT * Math.log(ratio(BOUNDS[i], y))));

function softUnits([numerator, denominator]) {
  const sigma = numerator / denominator;
  return unitsOf((x, y) => {
    const inside = Math.min(Math.max((sigma + RAMP - (x + y) / 2) / (2 * RAMP), 0), 1);
    return ((1 - UNMARKED) * inside) / sigma + UNMARKED;
  });
}

function rankUnits(likelier) {
  const parts = Array.from({ length: RAREST + 1 }, (_, k) => likelier ** k);
  const whole = parts.reduce((a, b) => a + b);
  return unitsOf((x, y) => {
    const ratios = parts.map((part, k) => (part * ((1 - x) ** (2 ** k) - (1 - y) ** (2 ** k))) / (y - x));
    return ratios.reduce((a, b) => a + b) / whole;
  });
}

/**
 * The units at each interval of ranks, in eighths of a nat: of `light-soft`, and of `light-rank` by the number of bits of
 * the token. Ids are in the order of the merges, so common tokens have small ones.
 */
export function lightTables(sigma, vocabulary) {
  const all = bits(vocabulary);
  const rank = Array.from({ length: all + 1 }, (_, own) => rankUnits(LIKELIER - HALVING * (all - own)));
  return { soft: softUnits(sigma), rank };
}

/** The interval of a rank of 32 bits. */
function interval(rank) {
  const step = rank >>> (32 - STEP_BITS);
  return step > 0 ? step + DOUBLINGS : Math.max(bits(rank) - (32 - STEP_BITS - DOUBLINGS), 0);
}

/** The units of a token of some ranks, one for each colour, by each light score. */
export function lightUnits(ranks, token, { soft, rank }) {
  const intervals = Uint8Array.from(ranks, interval);
  const units = (table) => Int8Array.from(intervals, (at) => table[at]);
  return { "light-soft": units(soft), "light-rank": units(rank[bits(token)]) };
}
