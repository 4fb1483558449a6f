/**
 * 10.4 Records of several codes: the slots of a window read together. Slot 0 names the beacon, and the beacon's nonce
 * colours the other slots, so each likely nonce is assumed in turn.
 */
import { beaconFields, NONCES } from "./beacon.js";
import { carried } from "./framing.js";
import { likeliest, NOWHERE } from "./likeliest.js";
import { pValue, pValueOf, tail } from "./null.js";
import { READING } from "./numbers.js";
import { expected } from "./scored.js";
import { best, scoreJob } from "./search.js";

/** Number of the best beacons whose nonces are tried. */
const BEACONS = READING.beacons;
/** Once the codes behind the beacon have a p-value below this, no other nonces and layouts are tried. */
const CLEAR = READING.clear;
/** A window is read as a record where its beacon has a p-value below this; a short whole text from the second on. */
const { promising: PROMISING, possible: POSSIBLE, short: SHORT } = READING;
/** A layout is reported where the codes behind the beacon have at most this p-value by themselves. */
const CONFIRMED = READING.confirmed;
/** At most this number of pairs of a nonce and a layout are assumed for one window. */
const HYPOTHESES = READING.hypotheses;
/** At most this number of windows of a text are read as records. */
const WINDOWS_READ = READING.windows;
/** A window is not read where an overlapping window shows the same beacon this much more clearly. */
const MUCH_CLEARER = READING.much_clearer;

/** Whether a layout may follow a beacon: the specification's, and those that its provider owns. */
const mayFollow = (owner, code) => owner === undefined || owner === beaconFields(code).provider;

const overlaps = (a, b) => a.from < b.behind && b.from < a.behind;

/** Reads windows of a text as records of some layouts. */
export class RecordReader {
  /**
   * @param registered the codes of registered beacons, ascending
   * @param search does a job of ./search.js
   */
  constructor(text, layouts, registered, search) {
    this.search = search;
    this.text = text;
    this.layouts = layouts;
    this.registered = registered;
    this.space = 2 ** text.profile.code_bits;
  }

  /** The candidates, the clearest first; promising ones of several codes read as records. */
  async readAll(candidates) {
    const done = [];
    let reads = 0;
    for (const candidate of candidates.toSorted((a, b) => a.p - b.p)) {
      const same = done.filter((one) => one.code === candidate.code && overlaps(one, candidate));
      const known = same.some((one) => one.reading || one.p <= candidate.p * MUCH_CLEARER);
      const beacons = candidate.n === 1 || known || reads === WINDOWS_READ ? 0 : this.beaconsWorthReading(candidate);
      if (beacons > 0) {
        reads++;
        await this.read(candidate, beacons);
      }
      done.push(candidate);
    }
    return done;
  }

  /** With how many of its best beacons a window is read; 0 for not at all. */
  beaconsWorthReading({ from, behind, p }) {
    if (p < PROMISING) return BEACONS;
    return behind - from === this.text.length && this.text.length <= SHORT && p < POSSIBLE ? 1 : 0;
  }

  /** Reads a window that was not read yet, or only with fewer beacons. */
  async readIfNeeded(candidate) {
    if (candidate.n > 1 && !candidate.reading && candidate.beacons < BEACONS) await this.read(candidate, BEACONS);
  }

  /**
   * Reads a window as a record of one of the layouts: its p-value is the better of two, of the beacon alone and of all
   * slots that anyone can read.
   */
  async read(candidate, beacons) {
    candidate.beacons = beacons;
    const { n, codes, tests } = candidate;
    const first = this.slotTable(candidate, 0);
    const slots = new Map();
    const assumed = this.hypotheses(best(await this.scores(first, codes), codes, beacons), n);
    const nonces = new Set(assumed.map(({ nonce }) => nonce)).size;
    let [found, layouts, clearest] = [null, 0, [1, 1]];
    for (const { name, nonce, layout } of assumed) {
      if (!slots.has(name)) slots.set(name, await this.slot(first, this.beacons(codes, nonce, layout.owner)));
      const read = await this.assume(candidate, slots.get(name), layout, nonce, codes);
      const tried = this.layoutsOf(read.codes[0], n).length;
      const whole = read.p(0, tests * tried * read.records);
      const further = read.p(1, tried * nonces * read.records);
      if (!found || whole < clearest[0] || (whole === clearest[0] && further < clearest[1])) {
        [found, layouts, clearest] = [read, tried, [whole, further]];
      }
      if (clearest[1] < CLEAR) break;
    }
    if (found && (clearest[0] < candidate.p || clearest[1] <= CONFIRMED)) this.asRecord(candidate, found, layouts);
  }

  /** The layouts of `n` codes that may follow a beacon: the specification's, and those that its provider owns. */
  layoutsOf(code, n) {
    return this.layouts.filter(({ codes, owner }) => codes === n && mayFollow(owner, code));
  }

  /** What is assumed of a window with these best beacons, in turn: `{name, nonce, layout}`; `name` is of the beacons left. */
  hypotheses(tops, n) {
    const found = new Map();
    for (const code of tops) {
      for (const layout of this.layoutsOf(code, n)) {
        const nonce = code % NONCES;
        const one = { name: `${nonce} ${layout.owner}`, nonce, layout };
        found.set(`${nonce} ${layout.number}`, found.get(`${nonce} ${layout.number}`) ?? one);
      }
    }
    return [...found.values()].slice(0, HYPOTHESES);
  }

  /** The searched codes of a nonce and, where a layout has an owner, of that provider. */
  beacons(codes, nonce, owner) {
    const all = codes ?? Uint32Array.from({ length: this.space / NONCES }, (_, i) => i * NONCES + nonce);
    return all.filter((code) => code % NONCES === nonce && mayFollow(owner, code));
  }

  /** The likeliest record of a window, if the layout and the nonce are right; `beacons` are those searched. */
  async assume(window, first, layout, nonce, beacons) {
    const hops = beacons && Uint32Array.from(new Set([...beacons, ...this.registered])).sort();
    const slots = [first];
    const readable = layout.authenticated ? layout.codes - 1 : layout.codes;
    for (const slot of [...Array(readable).keys()].slice(1).concat(layout.codes)) {
      slots.push(await this.slot(this.slotTable(window, slot, layout, nonce), slot < layout.hops ? hops : null));
    }
    const codes = likeliest(slots.map(({ scores }) => scores));
    const scores = slots.map((slot, i) => slot.scores[codes[i]]);
    const from = (at) => slots.slice(at).flatMap(({ table }) => table.rows);
    return {
      layout, slots, codes, scores,
      records: slots.slice(1, -1).reduce((product, { searched }) => product * searched, 1),
      p: (at, number) => pValueOf(from(at), scores.slice(at).reduce((a, b) => a + b, 0), number),
    };
  }

  slotTable({ by, n, from, behind }, slot, layout, nonce) {
    const places = this.text.carrying(n, slot, from, behind);
    return this.text.table(by, places, slot === 0 ? {} : { layout: layout.number, slot, nonce });
  }

  /** The scores of codes over a table, of all where `codes` is null. */
  scores(table, codes) {
    return this.search(scoreJob(table, codes, this.text.profile.code_bits));
  }

  /** A slot's evidence: the scores of every code, of those that are searched above {@link NOWHERE}. */
  async slot(table, codes) {
    const scores = await this.scores(table, codes);
    if (!codes) return { table, scores, searched: this.space };
    const everywhere = new Int32Array(this.space).fill(NOWHERE);
    codes.forEach((code, i) => (everywhere[code] = scores[i]));
    return { table, scores: everywhere, searched: codes.length };
  }

  /** The candidate as its likeliest record, with bounds on how often that is wrong. */
  asRecord(candidate, { layout, slots, codes, scores, records, p: pFrom }, layouts) {
    const tests = candidate.tests * layouts * records;
    const p = pFrom(0, tests);
    // Else the window shows its own beacon more clearly than a record with another beacon.
    if (codes[0] !== candidate.code && p >= candidate.p) return;
    const rivals = slots.map(({ searched }, slot) => (slot === 0 ? candidate.parts : 1) * searched);
    const { bounds, either } = errorBounds(slots, rivals, scores, tests, layouts);
    bounds[0] = Math.min(bounds[0], pValue(tail(slots[0].table.rows, scores[0]), candidate.tests));
    candidate.p = codes[0] === candidate.code ? Math.min(p, candidate.p) : p;
    candidate.code = codes[0];
    candidate.score = scores.reduce((a, b) => a + b, 0);
    candidate.expected = slots.reduce((sum, { table }) => sum + expected(table), 0);
    candidate.reading = { layout, codes: codes.slice(0, -1), pValues: bounds.slice(0, -1), p: either };
  }

  /** The slots whose codes were read: the positions that carry each, its colour seeds, and its code. */
  parts(candidate, from = 0, behind = this.text.length) {
    const { n, code, reading } = candidate;
    const part = (slot, of, carriedCode) => ({
      places: this.text.carrying(n, slot, from, behind), seeds: this.text.colourSeeds(of), code: carriedCode,
    });
    const found = [part(0, {}, code)];
    if (!reading) return found;
    const nonce = reading.codes[0] % NONCES;
    const known = carried({ authenticated: false }, reading.codes);
    known.slice(1).forEach((carriedCode, i) => {
      const slot = i + 2 === known.length ? n : i + 1; // the check is in the last slot
      found.push(part(slot, { layout: reading.layout.number, slot, nonce }, carriedCode));
    });
    return found;
  }

  /** What every position says for a record's codes, repeats included. */
  contributions(candidate) {
    const found = new Int32Array(this.text.length);
    for (const { places, seeds, code } of this.parts(candidate)) {
      for (const i of places) found[i] = this.text.unit(candidate.by, i, code, seeds);
    }
    return found;
  }
}

/**
 * How often a record that is wrong in a slot would fit as well as what was read: for each slot, and for any. A wrong
 * record agrees with its check, so it is wrong in two slots at least, and all but one of them determine the last.
 * `rivals` are the numbers of codes that may be in the slots.
 */
function errorBounds(slots, rivals, scores, whole, layouts) {
  const bounds = slots.map(() => 0);
  let either = 0;
  for (let set = 1; set < 2 ** slots.length; set++) {
    const wrong = [...slots.keys()].filter((slot) => (set >> slot) & 1);
    if (wrong.length < 2) continue;
    let records = whole;
    if (wrong.length < slots.length) {
      const free = wrong.map((slot) => rivals[slot]).sort((a, b) => a - b).slice(0, -1);
      const others = wrong.length === slots.length - 1 && wrong[0] > 0 ? layouts : 1;
      records = free.reduce((a, b) => a * b, others);
    }
    const rows = wrong.flatMap((slot) => slots[slot].table.rows);
    const doubt = records * tail(rows, wrong.reduce((sum, slot) => sum + scores[slot], 0));
    either += doubt;
    for (const slot of wrong) bounds[slot] += doubt;
  }
  return { bounds: bounds.map((doubt) => pValue(doubt, 1)), either: pValue(either, 1) };
}

