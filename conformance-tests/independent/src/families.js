/** The families of vectors: each a pure function from a vector's input to an answer. Refusals are answers. */
import { beaconCode, beaconFields, CODE_BITS, codesByNonces, NONCES } from "../../../packages/ctwl-web/src/beacon.js";
import { concat, hex, sha256, unhex as fromHex, utf8 } from "../../../packages/ctwl-web/src/bytes.js";
import { readAnswer, readQuestion } from "./asking.js";
import { blocks } from "./blocks.js";
import * as canonical from "../../../packages/ctwl-web/src/canonical.js";
import { authenticatorPValue, decodeText, readOneCode, recordPValues } from "./decode.js";
import { doubts } from "./doubts.js";
import { isSuitable } from "../../../packages/ctwl-web/src/ed25519.js";
import { preAuthentication, readEnvelope, signedPayload } from "../../../packages/ctwl-web/src/envelope.js";
import { counted } from "./evidence.js";
import { logEValue } from "./e-value.js";
import { mergesFile, tensorsDigest, vocabFile } from "./files.js";
import { carried, interleavedSlot, MAX_CODES } from "../../../packages/ctwl-web/src/framing.js";
import { colour, colourSeed, fmix32, permutationSeeds, rank, slotWord } from "../../../packages/ctwl-web/src/hashing.js";
import { layout, layoutOf, recordCodes, relay } from "../../../packages/ctwl-web/src/layouts.js";
import { lightTables, lightUnits } from "../../../packages/ctwl-web/src/light.js";
import { normalize } from "../../../packages/ctwl-web/src/normalization.js";
import { pValue, randomised, tail } from "../../../packages/ctwl-web/src/null.js";
import { isMember, modelWeights, ranksBelow, rivals, total, toyWeights } from "./partition.js";
import { positions } from "../../../packages/ctwl-web/src/positions.js";
import { certifiedProfile, commitment, personalProfile } from "./private.js";
import { digest, profileFromBytes, profileFromJson, publicKey } from "../../../packages/ctwl-web/src/profile.js";
import { PUBLISHED, TOYS } from "./published.js";
import { verifyProof } from "./proof.js";
import { Refusal, require } from "../../../packages/ctwl-web/src/refusal.js";
import { epochAt, readRegistry } from "../../../packages/ctwl-web/src/registry.js";
import { readRoot } from "../../../packages/ctwl-web/src/root.js";
import { authenticator, authenticatorColourKey, open, seal } from "./sealing.js";
import { windowBests } from "./search.js";
import { openProviderSecret, openRegistrySecret, openSecret } from "./secrets.js";
import { Tokenizer } from "../../../packages/ctwl-web/src/tokenizer.js";
import { toyTokenizer } from "./toy.js";
import { units } from "./units.js";
import { update } from "./update.js";
import { tests, windows } from "../../../packages/ctwl-web/src/windows.js";

const MAX_BYTES = 2 ** 24;
/** The most places of a passage at which weights are asked for. */
const MAX_PLACES = 256;
const TOY = PUBLISHED.get("org.ctwl.toy.1");

/** Bytes from hexadecimal; long ones come in parts, some of them repeated. */
function unhex(digits) {
  if (Array.isArray(digits)) {
    const sizes = digits.map((part) => (typeof part === "string" ? part.length / 2 : (part.repeat.length / 2) * part.times));
    if (!(sizes.reduce((a, b) => a + b, 0) <= MAX_BYTES)) throw new TypeError("too many bytes");
    return concat(...digits.map((part) => unhex(typeof part === "string" ? part : part.repeat.repeat(part.times))));
  }
  if (typeof digits !== "string" || !/^(?:[0-9a-f]{2})*$/i.test(digits)) throw new TypeError("not hexadecimal");
  return fromHex(digits);
}

const NUMBERS = Array.from({ length: MAX_CODES }, (_, i) => i + 1);

/** The profile of a question: the first toy profile where none is named. */
const profileOf = ({ profile }) => (profile === undefined ? TOY : PUBLISHED.get(profile));
/** The text of a question: code units of UTF-16 where it may be no Unicode text. */
const textOf = ({ text, code_units: units }) => (units === undefined ? text : String.fromCharCode(...units));

const read = (input, light, registered, owned) => decodeText(profileOf(input), textOf(input), input.alpha, light, registered, owned);
/** The codes of beacons, `[provider, version]` each, with as many nonces as a third number says, else with any. */
const ownedLayout = ([number, owner, fields]) => ({ ...layout(number, `layout_${number}`, [...layoutOf(1).fields, ...fields]), owner });
const beaconCodes = (beacons) => codesByNonces(beacons.map(([provider, version, nonces = NONCES]) => [provider, version, nonces]));
const told = ({ detected, code, p_value: p, spans }) => ({
  detected, code, p_value: p, spans: spans.map((span) => ({ code: span.code, p_value: span.p_value })),
});
const placed = ({ spans }) => ({ spans: spans.map(({ start, end, code }) => ({ start, end, code })) });

const mapped = (record, change) => Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));

/** A number of positions, or of tokens, that may be asked about. */
function count(number) {
  if (!Number.isInteger(number) || number < 0 || number > 2 ** 20) throw new TypeError("not a number of positions");
  return number;
}

export const FAMILIES = {
  canonical: ({ bytes }) => ({ encoded: hex(canonical.encode(canonical.decode(unhex(bytes)))) }),

  profile({ name }) {
    const found = PUBLISHED.get(name);
    if (!found) throw new Refusal("profile-unknown", "no published profile has this name");
    return { digest: hex(digest(found)) };
  },
  "profile-document": ({ document, bytes }) => ({
    digest: hex(digest(bytes === undefined ? profileFromJson(document) : profileFromBytes(unhex(bytes)))),
  }),
  "public-key": ({ name }) => ({ key: hex(publicKey(name)) }),
  "personal-profile"({ profile, user }) {
    const made = personalProfile(profileFromJson(profile), user);
    return { name: made.name, key: hex(made.key), digest: hex(digest(made)) };
  },
  commitment({ profile, challenge }) {
    const own = profileFromJson(profile);
    const made = certifiedProfile(own, unhex(challenge));
    return { commitment: hex(commitment(own)), name: made.name, key: hex(made.key), digest: hex(digest(made)) };
  },
  "locked-profile": ({ file, passphrase }) => ({
    digest: hex(digest(profileFromBytes(openSecret(unhex(file), passphrase, "ctwl-profile/1")))),
  }),
  "locked-keys": ({ of, file, passphrase }) => ({
    secret: hex((of === "provider" ? openProviderSecret : openRegistrySecret)(unhex(file), passphrase)),
  }),
  "secret-file": ({ file, passphrase, purpose }) => ({
    secret: hex(openSecret(unhex(file), passphrase, purpose)),
  }),
  proof({ proof, registry, appeared, text, alpha }) {
    verifyProof(unhex(proof), readRegistry(unhex(registry)), appeared, text, alpha);
    return { status: "ok" };
  },

  normalization: ({ text }) => ({ text: normalize(text) }),
  tokenizer: ({ vocab, merges, pre_tokenizer: rule, text }) => ({
    ids: new Tokenizer(new Map(Object.entries(vocab)), merges, rule).encode(text),
  }),
  "toy-tokenizer": ({ text }) => ({ ids: toyTokenizer.encode(normalize(text)) }),
  "tokenizer-files": ({ tokens, merges }) => ({
    vocab: hex(vocabFile(tokens)),
    merges: hex(mergesFile(merges)),
  }),
  tensors: ({ tensors }) => ({ sha256: hex(tensorsDigest(tensors)) }),
  positions({ tokens, prefix_length: prefix, context_length: length }) {
    const found = positions(tokens, count(prefix), count(length));
    return {
      windows: found.map(({ window }) => window),
      contexts: found.map(({ context }) => context),
      observed: found.map(({ token }) => token),
    };
  },
  blocks: ({ tokens, prefix_length: prefix, places }) => ({ blocks: blocks(count(tokens), count(prefix), places) }),

  mixing: ({ words }) => ({ mixed: words.map(fmix32) }),
  permutation({ key, context, colour: a, tokens }) {
    const seed = permutationSeeds(unhex(key), context, a + 1)[a];
    return { seed, ranks: tokens.map((token) => rank(seed, token)) };
  },
  colours({ key, context, layout: number, slot, nonce, colours, codes }) {
    const seed = colourSeed(unhex(key), context, number, slot, nonce);
    return { seed, colours: codes.map((code) => colour(seed, code, colours)) };
  },

  weights: ({ logits, vocabulary, weight_bits: bits, special }) => ({
    weights: Array.from(modelWeights(logits, vocabulary, bits, special)),
  }),
  members({ weights, seed, sigma }) {
    const below = Array.from(ranksBelow(weights, seed));
    const all = total(weights);
    return { members: [...below.keys()].filter((v) => isMember(below[v], all, sigma)), below };
  },
  rivals({ weights, total: all, token }) {
    const found = rivals(weights, token, all);
    return { tokens: found.map(([id]) => id), weights: found.map(([, weight]) => weight) };
  },
  "toy-weights"({ window, tokens, special }) {
    const weights = toyWeights(window, TOY.tokenizer.vocabulary, special);
    return { weights: tokens.map((token) => weights[token]) };
  },
  numeric({ profile, ids, places, tokens }) {
    require(TOYS.includes(profile), "profile-unknown", "weights of this profile take a language model");
    const { prefix_length: length, tokenizer: { vocabulary, special } } = PUBLISHED.get(profile);
    const isId = (id) => Number.isInteger(id) && id >= 0 && id < vocabulary;
    require([ids, ...tokens].flat().every(isId), "token-out-of-range", `token ids run from 0 to ${vocabulary - 1}`);
    const isPlace = (place) => Number.isInteger(place) && place >= length && place < ids.length;
    if (places.length > MAX_PLACES || !places.every(isPlace)) throw new TypeError("places are those of tokens with a prefix");
    // 7.3: the toy model sees the last tokens alone, so it needs no blocks.
    const rows = places.map((place) => toyWeights(ids.slice(place - length, place), vocabulary, special));
    return { weights: tokens.map((asked, i) => asked.map((id) => rows[i][id])), totals: rows.map(total) };
  },

  beacon: (fields) => ({ code: beaconCode(fields) }),
  "beacon-fields": ({ code }) => beaconFields(code),
  layout({ number, name, fields }) {
    const { codes, hops, authenticated } = layout(number, name, fields);
    return { codes, hops, authenticated };
  },
  record({ layout: number, fields }) {
    const codes = recordCodes(layoutOf(number), fields);
    return { codes, slots: carried(layoutOf(number), codes) };
  },
  relay: ({ chain, own, full }) => relay(chain, own, full),
  slot({ key, tail: tokens }) {
    const word = slotWord(unhex(key), tokens);
    return { word, interleaved: NUMBERS.map((n) => interleavedSlot(word, n)) };
  },
  sealing({ secret, profile, user, ...beacon }) {
    const key = unhex(secret);
    const sealed = seal(key, user, beacon);
    const { provider, version, nonce } = beacon;
    const fields = { provider, version, nonce, sealed_user: sealed, authenticator: 0 };
    const codes = recordCodes(layoutOf(4), fields).slice(0, -1);
    return {
      sealed_user: sealed,
      authenticator: authenticator(key, digest(PUBLISHED.get(profile)), 4, codes),
      colour_key: hex(authenticatorColourKey(key)),
    };
  },
  opening: ({ secret, sealed_user: sealed, ...beacon }) => ({ user: open(unhex(secret), sealed, beacon) }),

  "pre-authentication": ({ type, payload }) => ({ bytes: hex(preAuthentication(type, unhex(payload))) }),
  "registry-key"({ key }) {
    require(isSuitable(unhex(key)), "key-unsuitable", "a key that may not be enrolled");
    return { status: "ok" };
  },
  envelope({ envelope, type, role: { threshold, keys } }) {
    const payload = signedPayload(readEnvelope(unhex(envelope), type), { threshold, keys: keys.map(unhex) });
    return { payload: hex(sha256(payload)) };
  },
  root({ root }) {
    readRoot(unhex(root));
    return { status: "ok" };
  },
  registry: ({ registry }) => ({ status: "ok", entries: readRegistry(unhex(registry)).entries.length }),
  epochs: ({ registry, provider, times }) => ({
    epochs: times.map((at) => epochAt(readRegistry(unhex(registry)), provider, at)),
  }),
  "registry-update"({ trusted, roots, registry, clock }) {
    const held = { root: unhex(trusted.root), registry: trusted.registry && unhex(trusted.registry), latest: trusted.latest };
    const next = update(held, roots.map(unhex), registry && unhex(registry), clock);
    return { status: "ok", root: next.root.version, registry: next.registry.version, latest: next.latest };
  },

  "counted-positions": ({ positions: found }) => ({ counted: counted(found) }),
  scores({ contexts, codes }) {
    const scores = codes.map((code) =>
      contexts.reduce((sum, { seed, units }) => sum + units[colour(seed, code, units.length)], 0),
    );
    const best = scores.reduce((at, score, i) => (score > scores[at] ? i : at), 0);
    return { scores, best: codes[best], best_score: scores[best] };
  },
  units: ({ weights, total: all, token, seeds, sigma }) => units(rivals(weights, token, all), token, all, seeds, sigma),
  "light-units": ({ ranks, token, sigma, vocabulary }) =>
    mapped(lightUnits(ranks, token, lightTables(sigma, vocabulary)), (units) => Array.from(units)),
  windows: ({ positions: all, codes }) => ({ windows: windows(count(all), codes) }),
  "window-scores"({ positions: found, windows: list, codes }) {
    const marks = found.map((position) => ({ ...position, zeros: 1 }));
    const [bests] = windowBests(marks, [list], CODE_BITS, found[0].units.length, codes);
    return { best: bests.map(({ code }) => code), scores: bests.map(({ score }) => score) };
  },
  tests({ positions: all, codes, forms, numbers }) {
    const found = numbers.map((n) => tests(count(all), n, codes, forms, numbers.length));
    return { whole: found.map(({ whole }) => whole), window: found.map(({ window }) => window) };
  },
  null: ({ units, score, tests: all }) => ({ p_value: pValue(tail(units, score), all) }),
  randomised: ({ units, score, u }) => ({ p_value: randomised(units, score, u) }),
  "e-value": ({ units }) => ({ e_value: Math.exp(logEValue(units)) }),
  "record-doubts": doubts,

  "read-one-code": (input) => readOneCode(profileOf(input), textOf(input), input.alpha),
  decode: (input) => told(read(input)),
  "decode-light": (input) => told(read(input, true)),
  "decode-spans": (input) => ({ codes: read(input).spans.map(({ code }) => code) }),
  "decode-registered": (input) => told(read(input, false, beaconCodes(input.registered), (input.layouts ?? []).map(ownedLayout))),
  "decode-light-registered": (input) => told(read(input, true, beaconCodes(input.registered))),
  "decode-places": (input) => placed(read(input)),
  "decode-light-places": (input) => placed(read(input, true)),
  "decode-forms"(input) {
    const { strongest, record, candidate, ...found } = read(input);
    return found;
  },
  "decode-record-p-values"(input) {
    const { p_value: p, strongest } = read(input);
    return { p_value: p, ...(recordPValues(strongest) ?? { record: null, codes: null }) };
  },
  "decode-owner"(input) {
    const { record, strongest } = read(input);
    const shown = authenticatorPValue(profileOf(input), strongest, unhex(input.secret));
    if (shown === null) return { record, authentic: null, p_value: null };
    const p = Math.min(1, 2 * Math.min(shown, recordPValues(strongest).record));
    return { record, authentic: shown <= input.alpha, p_value: p };
  },
  "decode-record"(input) {
    const { code, record } = read(input);
    return { code, record };
  },
  question(input) {
    readQuestion(bodyOf(input));
    return { status: "ok" };
  },
  answer(input) {
    readAnswer(bodyOf(input), readQuestion(bodyOf(input.question)));
    return { status: "ok" };
  },
};

/** The bytes of a message of section 20; three dots in it stand for many letters. */
function bodyOf({ bytes, body, repeat = 3, letter = "a" }) {
  return bytes === undefined ? utf8(body.replace("...", () => letter.repeat(repeat))) : unhex(bytes);
}

/** The answer to a vector's input; refusals are answers. */
export function answer(family, input) {
  try {
    return FAMILIES[family](input);
  } catch (error) {
    if (error instanceof Refusal) return { status: error.status };
    throw error;
  }
}
