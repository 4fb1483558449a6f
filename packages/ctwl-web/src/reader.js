/** 10 Decoding by the light scores: from a text to the codes in it. The numbers are the specification's steps. */
import { beaconFields, CODE_BITS } from "./beacon.js";
import { equal, hex } from "./bytes.js";
import { before, findCandidates } from "./candidates.js";
import { LIGHT_SHARES } from "./light.js";
import { LAYOUTS, recordFields } from "./layouts.js";
import { READING, SCORES, SEARCH } from "./numbers.js";
import { passages } from "./passages.js";
import { digest, publicKey } from "./profile.js";
import { RecordReader } from "./readings.js";
import { require } from "./refusal.js";
import { ScoredText } from "./scored.js";
import { runJob } from "./search.js";
import { charactersIn, takenOut, variantsOf } from "./variants.js";
import { LENGTHS } from "./windows.js";

/** Longest text that is read, in characters and in tokens. */
export const [MAX_CHARACTERS, MAX_TOKENS] = [SEARCH.characters, SEARCH.tokens];
/** Default level of the test. */
export const ALPHA = SEARCH.level;
/** From so many distinct contexts on a window is of no narrow kind. */
const MANY_CONTEXTS = SEARCH.many_contexts;
/** What one position shows by rank, in bits. */
const BITS_PER_RANK = SEARCH.bits_per_rank;

/** Reads texts under one profile. */
export class Reader {
  /**
   * @param profile a profile, see {@link profileFromJson}
   * @param tokenizer its Tokenizer
   * @param names the registry's Names, null for none
   */
  constructor(profile, tokenizer, names = null) {
    this.profile = profile;
    this.tokenizer = tokenizer;
    const open = equal(publicKey(profile.name), profile.key);
    this.names = open ? names : null;
    const beacons = profile.code_bits === CODE_BITS;
    this.layouts = beacons ? (names?.layouts ?? LAYOUTS) : [];
    this.registered = open && beacons && names ? beaconSets(names.codesByNonces) : [];
    this.registeredCodes = Uint32Array.from(this.registered.flatMap(({ codes }) => Array.from(codes))).sort();
  }

  /**
   * What a text carries: the report of the reference in its names and units, places in characters.
   *
   * @param text a string; refused as `not-text` or `input-too-large`
   * @param options `alpha`, the level; `search`, which does a job of ./search.js and may leave it to other threads;
   *   `onRegistered`, called with the report on the registered codes, where it does not answer yet
   */
  async read(text, { onRegistered = () => {}, ...options } = {}) {
    let step = null;
    for await (step of this.steps(text, options)) if (step.more) onRegistered(step.report());
    return step.report();
  }

  /**
   * The same in steps, the quick ones first: after each what was found so far, `{report, conclusive, more}`. `report`
   * makes the report, `conclusive` says whether more evidence could hardly show more, `more` whether a step follows.
   */
  async *steps(text, { alpha = ALPHA, search = async (job) => runJob(job) } = {}) {
    require(typeof text === "string" && text.isWellFormed(), "not-text", "the text has lone surrogates, so it is not Unicode text");
    const characters = charactersIn(text, MAX_CHARACTERS);
    require(characters <= MAX_CHARACTERS, "input-too-large", `the text has ${characters} characters; at most ${MAX_CHARACTERS} are decoded at once`);
    require(alpha > 0 && alpha < 1, "option-out-of-range", `alpha is ${alpha}; it must lie between 0 and 1`);
    const variants = variantsOf(text); // 1
    const tokenized = variants.map(({ name, text: variant }) => {
      const { ids, starts } = this.tokenizer.locate(variant.text); // 2
      require(ids.length <= MAX_TOKENS, "input-too-large", `the text has ${ids.length} tokens; at most ${MAX_TOKENS} are decoded at once`);
      const places = [...starts, variant.text.length].map((at) => variant.source[at]);
      return { name, ids, starts: places };
    });
    const findings = tokenized.map((variant) => this.nothingIn(variant, search));
    const clearer = (a, b) => (b.spans.length > 0) - (a.spans.length > 0) || before(a.best, b.best);
    for (const sets of this.searches(1 / variants.length)) {
      for (const finding of findings) await this.find(finding, sets, alpha, search); // 3 to 8
      const sorted = findings.toSorted(clearer);
      const conclusive = isConclusive(sorted[0], alpha);
      yield { report: () => this.report(text, sorted, alpha), conclusive, more: !conclusive && sets[0].codes !== null }; // 9
      if (conclusive) return;
    }
  }

  /** What is searched in turn, sets of codes each: the registered ones first, which are few. */
  searches(share = 1) {
    const all = { codes: null, number: 2 ** this.profile.code_bits, parts: 1, share };
    if (this.registered.length === 0) return [[all]];
    const own = share * SEARCH.registered_share;
    return [this.registered.map((set) => ({ ...set, share: own })), [{ ...all, share: share - own }]];
  }

  /** What the tests found in one variant of a text before they began. */
  nothingIn(variant, search) {
    const text = new ScoredText(this.profile, variant.ids);
    return { variant, text, records: new RecordReader(text, this.layouts, this.registeredCodes, search), passed: [], best: null, spans: [] };
  }

  /** Adds what the tests find of some sets of codes in one variant of a text. */
  async find(finding, sets, alpha, search) {
    const { text, records } = finding;
    const numbers = [...new Set([1, ...this.layouts.map(({ codes }) => codes)])].sort();
    const candidates = await records.readAll(await findCandidates(text, sets, LIGHT_SHARES, numbers, search));
    const least = candidates.reduce((a, b) => (before(b, a) < 0 ? b : a));
    if (!finding.best || before(least, finding.best) < 0) finding.best = least;
    finding.passed.push(...candidates.filter((candidate) => isFound(candidate, text, alpha)));
    const worth = (candidate) => {
      const first = text.firstAround(candidate.from, candidate.behind);
      return records.contributions(candidate).map((value, i) => value * first[i]);
    };
    finding.spans = passages(text.length, finding.passed, this.profile.prefix_length, worth);
    for (const { candidate } of finding.spans) await records.readIfNeeded(candidate);
  }

  /**
   * The report on the clearest finding, the first. Of the other variant it has the spans that share no character with
   * those, such as one of a comment that a page does not show.
   */
  report(text, findings, alpha) {
    const [finding] = findings;
    const { variant, records, spans } = finding;
    const clearest = spans.reduce((a, b) => (a && a.candidate.p <= b.candidate.p ? a : b), null);
    const best = clearest ? clearest.candidate : finding.best;
    const parts = records.parts(best, best.from, best.behind).map((part) => ({ ...part, places: finding.text.counted(part.places) }));
    const scored = parts.reduce((sum, { places }) => sum + places.length, 0);
    const [tokens, needed] = [variant.ids.length, this.minimumTokens(alpha)];
    const detected = spans.length > 0;
    const distinct = new Set(finding.text.pairOf).size; // whichever slots they carry, and were read
    const likely = detected || finding.text.length === 0 ? null : { code: best.code, ...this.beacon(best.code), p_value: best.p };
    const short = tokens < needed || 2 * distinct < needed;
    const outcome = detected ? "found" : short ? "too-short" : "none";
    const characters = counter(text);
    const units = finding.text.units[best.by];
    const positive = (values) => values.reduce((sum, value) => sum + (value > 0), 0);
    const hits = ({ places, seeds, code }) => positive(places.map((i) => finding.text.unit(best.by, i, code, seeds)));
    const chance = ({ places }) => places.reduce((sum, i) => sum + positive(units[i]) / units[i].length, 0);
    const total = (of) => parts.reduce((sum, part) => sum + of(part), 0);
    const found = [];
    for (const each of findings) {
      const more = each.spans.map((span) => this.span(text, each, span, characters));
      found.push(...more.filter(({ start, end }) => found.every((own) => end <= own.start || own.end <= start)));
    }
    found.sort((a, b) => a.start - b.start);
    return {
      outcome,
      detected,
      spans: found,
      code: detected ? best.code : null,
      ...this.beacon(detected ? best.code : null),
      p_value: best.p,
      record: detected ? this.record(best) : null,
      signposts: this.names?.signposts(found.flatMap(({ record }) => record?.chain ?? [])) ?? [],
      better_reader: likely && !short && best.p < READING.promising ? (this.names?.betterReader(likely.provider) ?? null) : null,
      hidden: takenOut(text).map((each) => ({ ...each, start: characters(each.start) })),
      likeliest: likely,
      held_back: outcome === "none" ? heldBack(best, finding.text, alpha) : null,
      alpha,
      score: best.by,
      hits: total(hits),
      expected: total(chance),
      scored,
      tokens,
      needed,
      form: variant.name,
      searched: 2 ** this.profile.code_bits,
      registry: this.names?.about() ?? null,
      profile: this.profile.name,
      profile_digest: hex(digest(this.profile)),
      read: "light",
      starts: variant.starts.map(characters),
      contributions: this.contributions(finding, best),
    };
  }

  span(text, finding, span, characters) {
    const { starts, ids } = finding.variant;
    const [first, last] = this.tokensOf(span, finding);
    let end = starts[last];
    if (last < ids.length) while (end > starts[first] && /\s/.test(text[end - 1])) end--;
    const { candidate } = span;
    return {
      start: characters(starts[first]),
      end: characters(end),
      tokens: last - first,
      code: candidate.code,
      ...this.beacon(candidate.code),
      p_value: candidate.p,
      record: this.record(candidate),
    };
  }

  /** The first token of a span and the one after its last. An end that is near the text's own end moves there. */
  tokensOf(span, { spans, variant }) {
    const [prefix, tokens] = [this.profile.prefix_length, variant.ids.length];
    const [first, last] = [span.start + prefix, span.end + prefix];
    return [
      span === spans[0] && span.start <= prefix ? 0 : first,
      span === spans.at(-1) && tokens - last <= prefix ? tokens : last,
    ];
  }

  /** What each token says for the code, in nats; null for the first prefix. */
  contributions(finding, best) {
    const prefix = this.profile.prefix_length;
    const values = Array(finding.variant.ids.length).fill(null);
    const put = (candidate, first, last) => {
      const worth = finding.records.contributions(candidate);
      for (let i = first; i < last; i++) values[i] = worth[i - prefix] / SCORES.nat;
    };
    put(best, prefix, values.length);
    for (const span of finding.spans) {
      const [first, last] = this.tokensOf(span, finding);
      put(span.candidate, Math.max(first, prefix), last);
    }
    return values;
  }

  /** The fields of a beacon; null each where there is no code, or the profile's codes are not beacons. */
  beacon(code) {
    const none = { provider: null, version: null, nonce: null };
    return code === null || this.profile.code_bits !== CODE_BITS ? none : beaconFields(code);
  }

  /** A candidate's record, as far as it was read; null where the profile's codes are not beacons. */
  record({ n, code, p, reading }) {
    if (this.profile.code_bits !== CODE_BITS) return null;
    const { layout, codes, pValues, p: whole } = reading ?? {
      layout: n === 1 ? LAYOUTS[0] : null, codes: [code], pValues: [p], p,
    };
    const unread = layout ? Array(layout.codes - codes.length).fill(null) : [];
    const fields = layout ? recordFields(layout, [...codes, ...unread]) : beaconFields(codes[0]);
    const chain = Array.from({ length: layout?.hops ?? 1 }, (_, hop) => beaconFields(codes[hop]));
    const unnamed = (beacon) => ({ ...beacon, name: null, model: null, state: null });
    return {
      layout: layout?.name ?? null,
      number: layout?.number ?? null,
      codes,
      p_values: pValues,
      p_value: whole,
      fields,
      chain: chain.map((beacon) => this.names?.hop(beacon) ?? unnamed(beacon)),
      sealed: fields.sealed_user ?? null,
      authenticator: layout?.authenticated ?? false,
    };
  }

  /** Number of tokens below which hardly any text passes the test. */
  minimumTokens(alpha) {
    const bits = Math.min(...this.searches().flat().map(({ number, share }) => Math.log2(number / share))) - Math.log2(alpha);
    const [numerator, denominator] = this.profile.sigma;
    const each = { "light-soft": Math.log2(denominator / numerator), "light-rank": BITS_PER_RANK };
    const positions = Object.entries(LIGHT_SHARES).map(([score, share]) => (bits - Math.log2(share)) / each[score]);
    return this.profile.prefix_length + Math.ceil(Math.min(...positions));
  }
}

/**
 * The sets of the codes of beacons, by how many nonces a beacon has. Beacons have equal parts of the level, so each pays
 * for its own nonces: `number` is for how many codes a set's tests pay, `parts` how many times its own.
 */
function beaconSets(codesByNonces) {
  const beacons = (nonces) => codesByNonces.get(nonces).length / nonces;
  const all = Array.from(codesByNonces.keys(), beacons).reduce((a, b) => a + b, 0);
  return Array.from(codesByNonces, ([nonces, codes]) => ({ codes, number: nonces * all, parts: all / beacons(nonces) }));
}

/** The distinct contexts of a window, and the largest p-value that is enough there (spec section 10, step 8). */
function asked({ number, from, behind }, text, alpha) {
  const contexts = new Set(text.contextOf.subarray(from, behind)).size;
  const every = 2 ** text.profile.code_bits;
  return { contexts, needed: ((contexts >= MANY_CONTEXTS ? alpha : alpha ** 2) * number) / every };
}

/** Whether a window carries its code, and the text's kind is no reason for it. */
const isFound = (candidate, text, alpha) => candidate.p <= asked(candidate, text, alpha).needed;

/** The rule that the best code does not pass, see `held_back` of the reference's report; null where it passes. */
function heldBack(best, text, alpha) {
  const { contexts, needed } = asked(best, text, alpha);
  if (best.p <= needed) return null;
  if (best.p > alpha) return { rule: "level", contexts, needed: alpha };
  return { rule: contexts < MANY_CONTEXTS ? "few-contexts" : "every-code", contexts, needed };
}

/**
 * Whether more evidence could hardly show more: something was found, every code of a record of several is clear at the
 * level, and no stretch outside the spans is as long as the shortest window.
 */
function isConclusive({ spans, text }, alpha) {
  const bounds = [0, ...spans.flatMap(({ start, end }) => [start, end]), text.length];
  const gaps = bounds.filter((_, i) => i % 2 === 0).map((start, i) => bounds[2 * i + 1] - start);
  const isClear = ({ candidate: { n, reading } }) => n === 1 || (reading !== null && Math.max(...reading.pValues) <= alpha);
  return spans.length > 0 && Math.max(...gaps) < LENGTHS[0] && spans.every(isClear);
}

/** A function from a place in UTF-16 units to one in characters. */
function counter(text) {
  if (!/[\ud800-\udbff]/.test(text)) return (place) => place;
  const counts = new Uint32Array(text.length + 1);
  for (let i = 0; i < text.length; i++) counts[i + 1] = counts[i] + ((text.charCodeAt(i) & 0xfc00) !== 0xdc00);
  return (place) => counts[place];
}
