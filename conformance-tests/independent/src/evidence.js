/** 10, steps 1 to 6: what the positions of a text say, before any code is looked for. */
import { slots } from "../../../packages/ctwl-web/src/framing.js";
import { colourSeed, permutationSeeds, rank } from "../../../packages/ctwl-web/src/hashing.js";
import { lightTables, lightUnits } from "../../../packages/ctwl-web/src/light.js";
import { rivals, total, toyWeights, uniformWeights } from "./partition.js";
import { positions } from "../../../packages/ctwl-web/src/positions.js";
import { Refusal } from "../../../packages/ctwl-web/src/refusal.js";
import { units } from "./units.js";

/** Weights behind a prefix under a profile, as far as they need no language model. */
function weigh(profile, window) {
  const { vocabulary, special } = profile.tokenizer;
  if (profile.proxy.kind === "toy") return toyWeights(window, vocabulary, special);
  if (profile.proxy.kind === "uniform") return uniformWeights(vocabulary, special);
  throw new Refusal("proxy-not-found", "this reader runs no language model");
}

/**
 * Positions of tokens under a profile, each with `scores` (by name, a row by colour) and `slots` (by number of codes).
 *
 * @param light whether the scores are the light ones, which need no weights
 */
export function evidence(profile, tokens, light = false) {
  const tables = lightTables(profile.sigma, profile.tokenizer.vocabulary);
  const seeds = new Map();
  return positions(tokens, profile.prefix_length, profile.context_length).map((position) => {
    const name = position.context.join();
    if (!seeds.has(name)) seeds.set(name, permutationSeeds(profile.key, position.context, profile.colours));
    const { token } = position;
    const found = { ...position, name, slots: slots(profile, position) };
    if (light) {
      const ranks = Array.from(seeds.get(name), (seed) => rank(seed, token));
      return { ...found, scores: lightUnits(ranks, token, tables) };
    }
    const weights = weigh(profile, position.window);
    const all = total(weights);
    const { half, race } = units(rivals(weights, token, all), token, all, seeds.get(name), profile.sigma);
    return { ...found, scores: { half: Int16Array.from(half), race: Int16Array.from(race) } };
  });
}

/**
 * Step 5: the places of the positions that count, ascending, of those that carry one slot. Of those with the same context
 * and token it is the one that carries slot 0 in most numbers of codes, the first of those.
 */
export function counted(found) {
  const kept = new Map();
  found.forEach(({ context, token, slots: carried }, place) => {
    const pair = `${context.join()}|${token}`;
    const zeros = carried.filter((slot) => slot === 0).length;
    if (!kept.has(pair) || zeros > kept.get(pair).zeros) kept.set(pair, { place, zeros });
  });
  return Array.from(kept.values(), ({ place }) => place).sort((a, b) => a - b);
}

/** The counted ones of the positions that carry a slot of a record of `n` codes. */
export function countedIn(found, n, slot) {
  const carrying = found.filter((position) => position.slots[n - 1] === slot);
  return counted(carrying).map((place) => carrying[place]);
}

/**
 * Step 6: `units(c, a)` of the contexts of counted positions, each with its colour seed and `group`.
 *
 * @param group what keeps positions of one context apart, a number
 */
export function rowsOf(found, key, { layout = 0, slot = 0, nonce = 0 } = {}, group = () => 0) {
  const rows = new Map();
  for (const position of found) {
    const kind = group(position);
    const name = `${kind}|${position.name}`;
    const row = rows.get(name);
    if (row) position.units.forEach((unit, a) => (row.units[a] += unit));
    else {
      const seed = colourSeed(key, position.context, layout, slot, nonce);
      rows.set(name, { seed, group: kind, units: Int32Array.from(position.units) });
    }
  }
  return Array.from(rows.values());
}
