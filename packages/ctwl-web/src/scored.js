/** 10, steps 3 to 6: a text's positions, what each says for every colour, and their sums by context. */
import { slots } from "./framing.js";
import { colour, colourSeed, permutationSeeds, rank } from "./hashing.js";
import { lightTables, lightUnits } from "./light.js";
import { positions } from "./positions.js";

/** The positions of a text under a profile. */
export class ScoredText {
  /**
   * @param profile the profile
   * @param tokens token ids
   */
  constructor(profile, tokens) {
    this.profile = profile;
    const found = positions(tokens, profile.prefix_length, profile.context_length);
    this.length = found.length;
    this.contexts = [];
    this.contextOf = new Int32Array(this.length);
    this.pairOf = new Int32Array(this.length);
    this.slots = found.map((position) => slots(profile, position));
    this.units = { "light-soft": [], "light-rank": [] };
    const [names, pairs, tables] = [new Map(), new Map(), lightTables(profile.sigma, profile.tokenizer.vocabulary)];
    const seeds = [];
    const known = new Map();
    found.forEach(({ context, token }, i) => {
      const name = context.join();
      if (!names.has(name)) {
        names.set(name, this.contexts.length);
        this.contexts.push(context);
        seeds.push(permutationSeeds(profile.key, context, profile.colours));
      }
      this.contextOf[i] = names.get(name);
      const pair = `${name}|${token}`;
      if (!pairs.has(pair)) pairs.set(pair, pairs.size);
      this.pairOf[i] = pairs.get(pair);
      if (!known.has(pair)) {
        known.set(pair, lightUnits(Array.from(seeds[this.contextOf[i]], (seed) => rank(seed, token)), token, tables));
      }
      for (const [score, units] of Object.entries(known.get(pair))) this.units[score].push(units);
    });
    this.zeros = Uint8Array.from(this.slots, (carried) => carried.filter((slot) => slot === 0).length);
    this.seeds = new Map();
  }

  /** The colour seed of each context in a slot of a record. */
  colourSeeds({ layout = 0, slot = 0, nonce = 0 } = {}) {
    const name = `${layout}|${slot}|${nonce}`;
    if (!this.seeds.has(name)) {
      const { key } = this.profile;
      this.seeds.set(name, Int32Array.from(this.contexts, (context) => colourSeed(key, context, layout, slot, nonce)));
    }
    return this.seeds.get(name);
  }

  /** The positions from `from` on and before `behind` that carry a slot of a record of `n` codes. */
  carrying(n, slot, from = 0, behind = this.length) {
    const found = [];
    for (let i = from; i < behind; i++) if (this.slots[i][n - 1] === slot) found.push(i);
    return found;
  }

  /**
   * Step 5: of positions with one context and token one counts, the one that carries slot 0 in most numbers of codes,
   * the first of those.
   */
  counted(places) {
    const kept = new Map();
    for (const i of places) {
      const other = kept.get(this.pairOf[i]);
      if (other === undefined || this.zeros[i] > this.zeros[other]) kept.set(this.pairOf[i], i);
    }
    return Array.from(kept.values()).sort((a, b) => a - b);
  }

  /** 10.3: whether each position is the first with its context and token, those from `from` to before `behind` first. */
  firstAround(from, behind) {
    const [first, seen] = [new Uint8Array(this.length), new Set()];
    const look = (start, end) => {
      for (let i = start; i < end; i++) {
        first[i] = !seen.has(this.pairOf[i]);
        seen.add(this.pairOf[i]);
      }
    };
    look(from, behind);
    look(0, from);
    look(behind, this.length);
    return first;
  }

  /** The preliminary search of 10.2: a pair counts again `apart` positions behind where it counted last. */
  countedApart(apart) {
    const last = new Map();
    const found = [];
    for (let i = 0; i < this.length; i++) {
      if (i - (last.get(this.pairOf[i]) ?? -apart) < apart) continue;
      last.set(this.pairOf[i], i);
      found.push(i);
    }
    return found;
  }

  /** Step 6: the sums by context over the counted ones of some positions, under the colours of a record's slot. */
  table(score, places, slot) {
    const rows = new Map();
    const counted = this.counted(places);
    for (const i of counted) {
      const [context, units] = [this.contextOf[i], this.units[score][i]];
      const row = rows.get(context);
      if (row) for (let a = 0; a < units.length; a++) row[a] += units[a];
      else rows.set(context, Int32Array.from(units));
    }
    const all = this.colourSeeds(slot);
    const seeds = Int32Array.from(rows.keys(), (context) => all[context]);
    return { seeds, rows: Array.from(rows.values()), counted: counted.length };
  }

  /** What a position says for a code by a score, under the colours of a record's slot. */
  unit(score, i, code, seeds) {
    return this.units[score][i][colour(seeds[this.contextOf[i]], code, this.profile.colours)];
  }
}

/** The score of one code over a table. */
export const scoreOf = ({ seeds, rows }, code) =>
  rows.reduce((sum, row, i) => sum + row[colour(seeds[i], code, row.length)], 0);

/** The mean score of a wrong code over a table. */
export const expected = ({ rows }) => rows.reduce((sum, row) => sum + row.reduce((a, b) => a + b, 0) / row.length, 0);
