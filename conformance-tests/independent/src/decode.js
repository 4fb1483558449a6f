/** 10 Decoding: from a text to the codes in it. The numbers are the specification's steps. */
import NUMBERS from "../../../spec/numbers.json" with { type: "json" };
import { CODE_BITS } from "../../../packages/ctwl-web/src/beacon.js";
import { countedIn, evidence, rowsOf } from "./evidence.js";
import { carried, MAX_CODES } from "../../../packages/ctwl-web/src/framing.js";
import { colourSeed } from "../../../packages/ctwl-web/src/hashing.js";
import { LIGHT_SHARES } from "../../../packages/ctwl-web/src/light.js";
import { LAYOUTS, recordFields } from "../../../packages/ctwl-web/src/layouts.js";
import { greatestTail, pValue, tail } from "../../../packages/ctwl-web/src/null.js";
import { doubts } from "./doubts.js";
import { logEValue } from "./e-value.js";
import { bestRecord } from "./records.js";
import { require } from "../../../packages/ctwl-web/src/refusal.js";
import { bestBeacons, score, unitsFor, windowBests } from "./search.js";
import { charactersOf, joined, overlap, spanOf } from "./spans.js";
import { tailBounds } from "./bounds.js";
import { authenticator, authenticatorColourKey } from "./sealing.js";
import { tokenizerOf } from "./toy.js";
import { variantsOf } from "../../../packages/ctwl-web/src/variants.js";
import { digest } from "../../../packages/ctwl-web/src/profile.js";
import { recordCodes, layoutOf } from "../../../packages/ctwl-web/src/layouts.js";
import { isWholeTested, tests, windows } from "../../../packages/ctwl-web/src/windows.js";

/** Bounds on the work that a text may ask for. */
const MAX_CHARACTERS = NUMBERS.search.characters.value;
const MAX_TOKENS = 2 ** 14;
const MAX_EVALUATIONS = 128;

/** The scores by which a text is read by weights, each with its share of the level. */
const SHARES = NUMBERS.search.score_shares.value;
/** From so many contexts on a window is of no narrow kind. */
const MANY_CONTEXTS = NUMBERS.search.many_contexts.value;
const POSITIONS_PER_CONTEXT = NUMBERS.search.positions_per_context.value;
/** The bound of a tail and the tail differ by less than this, in natural logarithms. */
const SLACK = 7;
/** So many windows are read as records, of those whose slot 0 has a p-value of at most this. */
const [MAX_RECORDS, PROMISING] = [2, 0.1];
/** A reading whose p-value is this many times that of the best is no place to look for a record. */
const RIVAL = Math.exp(SLACK);

/**
 * What is found in a text under a profile at a level.
 *
 * @param light whether the text is read by the light scores alone, which need no weights
 * @param registered the codes of registered beacons, ascending: a Map by how many nonces a beacon has
 * @param owned registered layouts, each with the `owner` whose beacons alone it may follow
 * @returns `{detected, code, p_value, spans, record}`, nulls where nothing is found; `candidate`: the code that came
 *   nearest, with its p-value, or null; `strongest`, the passage whose code it is, or null
 */
export function decodeText(profile, text, alpha, light = false, registered = new Map(), owned = []) {
  const variants = variantTexts(text, alpha);
  const readings = [];
  for (const variant of variants) {
    const { found, readers } = prepared(profile, variant, alpha, light, variants.length, registered, owned);
    const { spans, candidate } = passages(readers, alpha); // 5 to 8
    readings.push({ ...report(profile, text, variant, found.length, joined(spans, profile.prefix_length)), candidate });
  }
  const nearest = ({ detected, p_value: p, candidate }) => (detected ? p : candidate?.p_value ?? 2);
  return readings.toSorted((a, b) => b.detected - a.detected || nearest(a) - nearest(b))[0];
}

/** 1. The variants of a text, normalized. */
function variantTexts(text, alpha) {
  const fits = text.length <= MAX_CHARACTERS || Array.from(text).length <= MAX_CHARACTERS;
  require(fits, "input-too-large", `more than ${MAX_CHARACTERS} characters`);
  require(text.isWellFormed(), "not-text", "not Unicode text");
  const variants = variantsOf(text).map((variant) => variant.text);
  require(alpha > 0 && alpha < 1, "option-out-of-range", "a level lies between 0 and 1");
  return variants;
}

/** 2 to 4: the positions of a variant, and its readers by each score. */
function prepared(profile, variant, alpha, light, variants, registered = new Map(), owned = []) {
  const tokens = tokenizerOf(profile).encode(variant.text);
  require(tokens.length <= MAX_TOKENS, "input-too-large", `more than ${MAX_TOKENS} tokens`);
  const found = evidence(profile, tokens, light);
  // 10.2: the codes of registered beacons and all codes are searched, each with its share of the level.
  const own = NUMBERS.search.registered_share.value;
  const counts = Array.from(registered, ([nonces, codes]) => codes.length / nonces);
  const beacons = counts.reduce((a, b) => a + b, 0);
  const hops = Uint32Array.from(Array.from(registered.values()).flatMap((codes) => Array.from(codes))).sort();
  const few = Array.from(registered.values(), (codes, i) => ({ codes, hops, owned, parts: beacons / counts[i], part: own }));
  const sets = [...few, { codes: null, hops: null, owned, parts: 1, part: few.length > 0 ? 1 - own : 1 }];
  const readers = Object.entries(light ? LIGHT_SHARES : SHARES).flatMap(([score, share]) => {
    const scored = found.map((position) => ({ ...position, units: position.scores[score] }));
    return sets.map((set) => new Reader(profile, scored, { alpha, light }, share * set.part, variants, set));
  });
  return { found, readers };
}

/**
 * One code in the whole text as given, and nothing else: what a basic reader reads.
 *
 * @returns `{detected, code, p_value}`, nulls where nothing is found
 */
export function readOneCode(profile, text, alpha) {
  const [variant] = variantTexts(text, alpha);
  const { readers } = prepared(profile, variant, alpha, false, 1);
  const isFound = ({ p_value: p, isFit }) => p <= alpha && isFit;
  const codes = readers.flatMap((reader) => reader.oneCode()).filter(isFound);
  const found = codes.toSorted((a, b) => a.p_value - b.p_value)[0];
  const detected = found !== undefined;
  return { detected, code: detected ? found.code : null, p_value: detected ? found.p_value : null };
}

/** 10.4: the p-value of the record of a passage, and those of its codes; null where no record of several codes was read. */
export function recordPValues({ evidence: read, own }) {
  if (!read) return null;
  const { record, slots } = doubts(read);
  const readable = slots.slice(0, -1);
  return { record, codes: [Math.min(readable[0], own), ...readable.slice(1)] };
}

/** 10.4: the p-value of the authenticator of a passage's record; null where the record has none. */
export function authenticatorPValue(profile, passage, secret) {
  const layout = passage?.record && layoutOf(passage.record.layout);
  if (!layout?.authenticated) return null;
  const { reader, window, record, n } = passage;
  const codes = recordCodes(layout, { ...record.fields, authenticator: 0 }).slice(0, -1);
  const code = authenticator(secret, digest(profile), layout.number, codes);
  const at = { layout: layout.number, slot: n - 1, nonce: record.fields.nonce };
  const rows = rowsOf(countedIn(reader.found.slice(...window), n, n - 1), authenticatorColourKey(secret), at);
  return tail(rows.map(({ units }) => units), score(rows, code, profile.colours));
}

/** 9. Report. */
function report(profile, text, variant, positions, spans) {
  const strongest = spans.reduce((a, b) => (a && a.p <= b.p ? a : b), null);
  const prefix = profile.prefix_length;
  const { start, end } = charactersOf(text, variant);
  return {
    detected: spans.length > 0,
    code: strongest?.code ?? null,
    p_value: strongest?.p ?? null,
    spans: spans.map(({ from, behind, code, p }, i) => ({
      start: start(i === 0 && from <= prefix ? 0 : from + prefix),
      end: end((i === spans.length - 1 && behind + prefix >= positions ? positions : behind) + prefix),
      code,
      p_value: p,
    })),
    record: strongest?.record ?? null,
    strongest,
  };
}

/**
 * The spans, `{reader, from, behind, n, code, p, record}`, best first, not yet joined; and `candidate`, the code that came
 * nearest, or null.
 */
function passages(readers, alpha) {
  let candidates = readers.flatMap((reader) => reader.candidates());
  let candidate = null;
  const spans = [];
  const see = ({ code, p }) => {
    if (p < (candidate?.p_value ?? 2)) candidate = { code, p_value: p };
  };
  for (;;) {
    const best = bestOf(candidates, alpha, see);
    if (!best) return { spans, candidate };
    const span = spanOf(best.reader.withRecord(best), spans);
    if (span) spans.push(span);
    // 10.3: a span stands for the windows with its code that it overlaps, and spans push out those that they mostly hold.
    candidates = candidates.filter((one) => {
      const taken = spans.reduce((sum, other) => sum + overlap(one, other), 0);
      const stoodFor = spans.some((other) => other.code === one.code && overlap(one, other) > 0);
      return one !== best && !stoodFor && 2 * taken <= one.behind - one.from;
    });
  }
}

/** The candidate of least p-value, if that is at most the level. Bounds spare most of them the exact test. */
function bestOf(candidates, alpha, see) {
  let best = null;
  for (const one of candidates.toSorted((a, b) => a.bound - b.bound)) {
    if (best && one.bound - SLACK > Math.log(best.p)) break;
    if (one.p === undefined) one.reader.evaluate(one);
    see(one);
    if (one.reader.isFound(one) && (!best || one.p < best.p)) best = one;
  }
  return best;
}

/** Reads positions by one score, whose share of the level is given. */
class Reader {
  constructor(profile, found, { alpha, light }, share, variants, { codes, hops, parts, owned }) {
    this.share = share;
    this.codes = codes;
    this.hops = hops;
    this.owned = owned;
    this.parts = parts; // 10.2: beacons of other numbers of nonces have equal parts of the level
    this.paid = (codes?.length ?? 2 ** profile.code_bits) * parts;
    this.profile = profile;
    this.found = found;
    this.alpha = alpha;
    this.light = light;
    this.variants = variants;
    // Records are made of beacons of 20 bits (9.2); codes of other sizes come alone.
    this.numbers = profile.code_bits === CODE_BITS ? Array.from({ length: MAX_CODES }, (_, i) => i + 1) : [1];
    this.tests = this.numbers.map((n) => tests(found.length, n, this.paid, variants, this.numbers.length, share));
  }

  /** 10, step 8: whether a window carries its code, and the text's kind is no reason for it. */
  isFound({ p, n, from, behind, code, tests, choices, evidence }) {
    const contexts = new Set(this.found.slice(from, behind).map(({ name }) => name)).size;
    const others = 2 ** this.profile.code_bits / this.paid;
    if (this.light) return p * others <= (contexts >= MANY_CONTEXTS ? this.alpha : this.alpha ** 2);
    if (p > this.alpha) return false;
    const paid = choices * (behind - from >= POSITIONS_PER_CONTEXT * contexts ? others : 1);
    if (evidence) return this.isFit(evidence.slots.flatMap(({ chosen }) => chosen), (paid * evidence.records) / tests);
    return this.isFit(unitsFor(this.slotZero(this.found.slice(from, behind), n), code, this.profile.colours), paid);
  }

  /** 12: whether texts seldom fit a code as well, which has these units in each context, as the best of so many choices. */
  isFit(units, choices = 1) {
    return logEValue(units) >= Math.log(choices / this.alpha);
  }

  /** The rows of slot 0; `group` says, as bits, in which numbers of codes a row's positions count. */
  beaconRows(positions) {
    const masks = new Map();
    for (const n of this.numbers) {
      for (const one of countedIn(positions, n, 0)) masks.set(one, (masks.get(one) ?? 0) | (1 << (n - 1)));
    }
    return rowsOf(masks.keys(), this.profile.key, {}, (position) => masks.get(position));
  }

  /** The best code of the whole text where it carries one code: `{code, p_value, isFit}`, in a list; none without positions. */
  oneCode() {
    if (this.found.length === 0) return [];
    const alike = this.found.map((position) => ({ ...position, slots: [0] }));
    const rows = rowsOf(countedIn(alike, 1, 0), this.profile.key, {}, () => 1);
    const [[best]] = bestBeacons(rows, this.profile.code_bits);
    const all = 2 ** this.profile.code_bits / this.share;
    const p = pValue(tail(rows.map(({ units }) => units), best.score), all);
    return [{ code: best.code, p_value: p, isFit: this.isFit(unitsFor(rows, best.code, this.profile.colours)) }];
  }

  /** What may be a passage: `{reader, from, behind, n, code, tests, choices, bound}`, `p` where it is known. */
  candidates() {
    if (this.found.length === 0) return [];
    return [...this.wholeCandidates(), ...this.windowCandidates()].map((one) => Object.assign(one, { reader: this }));
  }

  /** 6 and 7 for the whole text, for each number of codes; with the record, which is tested as a whole too (10.4). */
  wholeCandidates() {
    if (!isWholeTested(this.found.length)) return [];
    const lists = bestBeacons(this.beaconRows(this.found), this.profile.code_bits, this.codes);
    const candidates = this.numbers.map((n) => {
      const [{ code, score: reached }] = lists[n - 1];
      const one = { from: 0, behind: this.found.length, n, code, score: reached, tests: this.tests[n - 1].whole, choices: this.variants, beacons: lists[n - 1] };
      one.p = pValue(tail(this.unitsOf(this.found, n), reached), one.tests);
      return one;
    });
    const least = Math.min(...candidates.map(({ p }) => p));
    for (const one of candidates) {
      if (one.n > 1 && one.p <= least * RIVAL) this.addRecord(one, this.found);
      one.bound = Math.log(one.p);
    }
    return candidates;
  }

  /** What the null is made of: one row a context, whatever else its positions carry. */
  unitsOf(positions, n) {
    return this.slotZero(positions, n).map(({ units }) => units);
  }

  slotZero(positions, n) {
    return rowsOf(countedIn(positions, n, 0), this.profile.key);
  }

  /** The windows that a preliminary search does not rule out. */
  windowCandidates() {
    const lists = this.numbers.map((n) => windows(this.found.length, n));
    if (lists.every((list) => list.length === 0)) return [];
    const { key, code_bits: bits, colours } = this.profile;
    const seeds = new Map();
    const positions = this.found.map((position) => {
      if (!seeds.has(position.name)) seeds.set(position.name, colourSeed(key, position.context, 0, 0, 0));
      const numbers = this.numbers.filter((n) => position.slots[n - 1] === 0); // in which it carries slot 0: the first
      return { units: position.units, seed: seeds.get(position.name), zeros: numbers.length };
    });
    const bests = windowBests(positions, lists, bits, colours, this.codes);
    const candidates = this.numbers.flatMap((n, i) => {
      const bound = tailBounds(positions.map(({ units, zeros }) => (n <= zeros ? units : null)));
      return lists[i].map(([from, behind], w) => ({
        from,
        behind,
        n,
        ...bests[i][w],
        tests: this.tests[i].window,
        choices: this.variants * lists[i].length,
        bound: Math.log(this.tests[i].window) + bound(from, behind, bests[i][w].score),
      }));
    });
    candidates.sort((a, b) => a.bound - b.bound);
    // Also where the whole text shows the code more clearly: a window may show the record's further codes.
    const promising = candidates.filter((one) => one.n > 1 && one.bound - SLACK <= Math.log(PROMISING));
    for (const one of promising.slice(0, MAX_RECORDS)) this.readRecord(one);
    return candidates
      .filter(({ bound }) => bound - SLACK <= Math.log(this.alpha))
      .sort((a, b) => a.bound - b.bound)
      .slice(0, MAX_EVALUATIONS);
  }

  /** 10.4 for a window that may carry a record. */
  readRecord(one) {
    this.evaluate(one, PROMISING);
    if (one.p > PROMISING) return;
    const inside = this.found.slice(one.from, one.behind);
    one.beacons = [{ code: one.code, score: one.score }];
    this.addRecord(one, inside);
    one.bound = Math.log(one.p);
  }

  /** 5 to 7 for a window: exactly, over all codes. */
  evaluate(window, level = this.alpha) {
    const inside = this.found.slice(window.from, window.behind);
    const rows = this.unitsOf(inside, window.n);
    window.p = 1;
    if (window.tests * greatestTail(rows) > level) return;
    // Where all positions count the preliminary search was exact.
    const carrying = inside.filter(({ slots }) => slots[window.n - 1] === 0).length;
    if (countedIn(inside, window.n, 0).length < carrying) {
      const lists = bestBeacons(this.beaconRows(inside), this.profile.code_bits, this.codes);
      Object.assign(window, lists[window.n - 1][0]);
    }
    window.p = pValue(tail(rows, window.score), window.tests);
  }

  /** 10.4: the better of the two tests, and the record where it may be reported. */
  addRecord(one, positions) {
    const found = bestRecord(this.profile, positions, one.n, one.beacons, one.tests, this);
    if (!found) return;
    const p = pValue(found.probability, found.tests);
    if (!found.shown && p >= one.p) return;
    const own = pValue(tail(found.slots[0].units, found.slots[0].score), one.tests);
    // The record's own beacon: the test of the record stands for it.
    if (p < one.p) [one.p, one.code] = [p, found.codes[0]];
    if (one.code === found.codes[0]) {
      one.record = { layout: found.layout.number, fields: recordFields(found.layout, found.codes) };
      one.codes = carried(found.layout, found.codes);
      one.window = [one.from, one.behind];
      one.evidence = { slots: found.slots, records: found.tests, layouts: found.layouts };
      one.own = own;
    }
  }

  /** A passage with the record that its beacon begins. */
  withRecord(passage) {
    const { n, from, behind, code } = passage;
    if (n === 1 && this.numbers.length > 1) {
      passage.record = { layout: 1, fields: recordFields(LAYOUTS[0], [code]) };
    } else if (n > 1 && !passage.record && !passage.beacons) {
      const positions = this.found.slice(from, behind);
      passage.beacons = [{ code, score: score(this.slotZero(positions, n), code, this.profile.colours) }];
      this.addRecord(passage, positions);
    }
    return passage;
  }
}
