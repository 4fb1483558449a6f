/** 4.2 to 4.4 Profiles: the document, its digest, the public key, the published ones. */
import { ascii, equal, sha256, unhex, utf8 } from "./bytes.js";
import { decode, encode } from "./canonical.js";
import { SPLITTING } from "./numbers.js";
import { as } from "./refusal.js";
import { checks } from "./schema.js";

const { map, need, integer, bytes, text, oneOf, array } = checks("profile-malformed");

const NAME = /^(?=.{1,100}$)(?:[a-z0-9]+(?:-[a-z0-9]+)*\.)+[1-9][0-9]{0,5}$/;
const FILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;
const REPOSITORY = /^(?=.{1,200}$)[A-Za-z0-9][A-Za-z0-9._-]*\/[A-Za-z0-9][A-Za-z0-9._-]*$/;
const REVISION = /^[0-9a-f]{40}$/;
const DISTRIBUTION = /^[a-z0-9][a-z0-9._-]{0,99}$/;
const VERSION = /^[0-9][0-9A-Za-z.]{0,49}$/;

const FIELDS = [
  "format", "name", "key", "hash_scheme", "context_length", "prefix_length", "colours", "sigma", "code_bits",
  "weight_bits", "framing", "normalization", "tokenizer", "proxy", "tolerance",
];

/** 4.3 The key of a public profile. */
export const publicKey = (name) => sha256(ascii("ctwl-h1/public-key"), utf8(name));

/** A profile's digest. */
export const digest = (profile) => sha256(encode(profile));

/** A profile from its canonical encoding, checked. */
export const profileFromBytes = (encoded) => checked(as("profile-malformed", () => decode(encoded)));

/** A profile that may bear a published name, whose content is then another's (4.6). */
export function claimedFromBytes(encoded) {
  const profile = as("profile-malformed", () => decode(encoded));
  wellFormed(profile);
  return profile;
}

/** A profile from its JSON, byte strings in hexadecimal, checked. */
export function profileFromJson(document) {
  return checked(as("profile-malformed", () => decode(encode(withBytes(document, "", 0)))));
}

/** Byte strings are where a field is called key, sha256 or tensors_sha256. */
function withBytes(value, field, depth) {
  need(depth < 8, "nested too deep");
  if (["key", "sha256", "tensors_sha256"].includes(field) && value !== null) {
    return unhex(text(value, /^(?:[0-9A-Fa-f]{2}){0,64}$/, field));
  }
  if (Array.isArray(value)) return value.map((item) => withBytes(item, "", depth + 1));
  if (value === null || typeof value !== "object") return value;
  const copy = Object.create(null);
  for (const key of Object.keys(value)) copy[key] = withBytes(value[key], key, depth + 1);
  return copy;
}

/** The profile, if it breaks no rule of 4.2. */
function checked(profile) {
  wellFormed(profile);
  const published = PUBLISHED.get(profile.name);
  need(!published || equal(encode(published), encode(profile)), "a published name with other content");
  return profile;
}

function wellFormed(profile) {
  map(profile, FIELDS, "a profile");
  oneOf(profile.format, ["ctwl-profile/1"], "format");
  text(profile.name, NAME, "name");
  bytes(profile.key, 32, "key");
  oneOf(profile.hash_scheme, ["ctwl-h1"], "hash_scheme");
  integer(profile.context_length, 1, 16, "context_length");
  integer(profile.prefix_length, profile.context_length, 512, "prefix_length");
  integer(profile.colours, 2, 4096, "colours");
  const [numerator, denominator] = array(profile.sigma, 2, 2, "sigma");
  integer(denominator, 2, 65_536, "sigma's denominator");
  integer(numerator, 1, denominator - 1, "sigma's numerator");
  need(divisor(numerator, denominator) === 1, "sigma is not in lowest terms");
  integer(profile.code_bits, 1, 24, "code_bits");
  integer(profile.weight_bits, 8, 24, "weight_bits");
  oneOf(profile.framing, ["interleaved"], "framing");
  oneOf(profile.normalization, ["ctwl-n1"], "normalization");
  tokenizer(profile.tokenizer);
  proxy(profile.proxy, profile);
  map(profile.tolerance, ["total_variation", "membership"], "tolerance");
  rational(profile.tolerance.total_variation, "total_variation");
  rational(profile.tolerance.membership, "membership");
}

const divisor = (a, b) => (b === 0 ? a : divisor(b, a % b));

function rational(value, what) {
  const [numerator, denominator] = array(value, 2, 2, what);
  integer(numerator, 0, 2 ** 32, what);
  integer(denominator, 1, 2 ** 32, what);
}

function file(value, name, what) {
  map(value, ["name", "size", "sha256"], what);
  text(value.name, FILE_NAME, `${what}'s name`);
  text(value.name, name, `${what}'s name`);
  integer(value.size, 1, 2 ** 36, `${what}'s size`);
  bytes(value.sha256, 32, `${what}'s sha256`);
}

function tokenizer(value) {
  map(value, ["vocabulary", "vocab", "merges", "pre_tokenizer", "unicode", "special"], "tokenizer");
  integer(value.vocabulary, 2, 2 ** 20, "vocabulary");
  file(value.vocab, /^vocab\.json$/, "vocab");
  file(value.merges, /^merges\.txt$/, "merges");
  oneOf(value.pre_tokenizer, Object.keys(SPLITTING.rules), "pre_tokenizer");
  oneOf(value.unicode, ["16.0"], "unicode");
  array(value.special, 0, 4096, "special");
  let least = 0;
  for (const id of value.special) least = integer(id, least, value.vocabulary - 1, "a special id") + 1;
}

function proxy(value, { prefix_length: prefixLength, tokenizer: { vocabulary } }) {
  need(value !== null && typeof value === "object", "proxy is not a map");
  oneOf(value.kind, ["model", "uniform", "toy"], "proxy's kind");
  if (value.kind === "toy") return void map(value, ["kind"], "proxy");
  if (value.kind === "uniform") {
    map(value, ["kind", "carrier", "source"], "proxy");
    if (value.carrier !== null) file(value.carrier, /^/, "carrier");
    return void source(value.source);
  }
  map(value, ["kind", "architecture", "weights", "tensors_sha256", "source"], "proxy");
  architecture(value.architecture, prefixLength, vocabulary);
  file(value.weights, /\.(?:safetensors|gguf)$/, "weights");
  // Only what is dequantized needs a digest of its own.
  if (value.weights.name.endsWith(".gguf")) bytes(value.tensors_sha256, 32, "tensors_sha256");
  else need(value.tensors_sha256 === null, "tensors_sha256 is for GGUF files");
  source(value.source);
}

function architecture(value, prefixLength, vocabulary) {
  need(value !== null && typeof value === "object", "architecture is not a map");
  oneOf(value.family, ["gpt2", "llama"], "family");
  const shared = ["family", "layers", "heads", "width", "positions", "rows", "norm_epsilon"];
  const own = value.family === "llama" ? ["key_value_heads", "feed_forward", "rope_theta", "tied"] : [];
  map(value, [...shared, ...own], "architecture");
  integer(value.layers, 1, 1024, "layers");
  integer(value.heads, 1, 1024, "heads");
  integer(value.width, 1, 2 ** 17, "width");
  integer(value.positions, prefixLength, value.family === "gpt2" ? 2 ** 17 : 2 ** 22, "positions");
  integer(value.rows, vocabulary, 2 ** 20, "rows");
  rational(value.norm_epsilon, "norm_epsilon");
  need(value.width % value.heads === 0, "heads do not divide the width");
  if (value.family === "gpt2") return;
  integer(value.key_value_heads, 1, value.heads, "key_value_heads");
  need(value.heads % value.key_value_heads === 0, "key_value_heads do not divide the heads");
  integer(value.feed_forward, 1, 2 ** 17, "feed_forward");
  integer(value.rope_theta, 1, 2 ** 32, "rope_theta");
  need(typeof value.tied === "boolean", "tied is true or false");
}

function source(value) {
  if (value === null) return;
  need(typeof value === "object", "source is not a map");
  oneOf(value.kind, ["hub", "pypi"], "source's kind");
  if (value.kind === "hub") {
    map(value, ["kind", "repository", "revision"], "source");
    text(value.repository, REPOSITORY, "repository");
    text(value.revision, REVISION, "revision");
  } else {
    map(value, ["kind", "distribution", "version"], "source");
    text(value.distribution, DISTRIBUTION, "distribution");
    text(value.version, VERSION, "version");
  }
}

/** The twin of a profile without its proxy LM (4.4). */
function twin(profile) {
  const name = profile.name.replace(/(\.[0-9]+)$/, ".vanilla$1");
  const { weights, source: origin } = profile.proxy;
  const carrier = weights.name.endsWith(".gguf") ? weights : null;
  return { ...profile, name, key: publicKey(name), proxy: { kind: "uniform", carrier, source: origin } };
}

/** 4.4 The published profiles by name, those that were told of: see {@link publish}. */
export const PUBLISHED = new Map();

/** Takes a published profile's document, as JSON has it; from then on no other content may bear its name. */
export function publish(document, { hasTwin } = {}) {
  const profile = profileFromJson(document);
  PUBLISHED.set(profile.name, profile);
  if (hasTwin) PUBLISHED.set(twin(profile).name, twin(profile));
  return profile;
}
