/** 9.6 Registry and its history. */
import { BEACON, NONCES } from "./beacon.js";
import { equal, hex } from "./bytes.js";
import { decode, encode } from "./canonical.js";
import { layout } from "./layouts.js";
import { RECORDS, REGISTRY } from "./numbers.js";
import { as, require } from "./refusal.js";
import { MAX_TIME, MAX_VERSION } from "./root.js";
import { checks } from "./schema.js";
import { isName, looksOf } from "./spelling.js";

const STATES = ["active", "retired", "revoked"];
const WORD = /^[a-z][a-z0-9_]{0,31}$/;
const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const HOST = `(?:${LABEL}\\.)+[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]`;
const PAGE = new RegExp(`^https://${HOST}(?:/(?:[A-Za-z0-9._~!$&*+,;=@:/-]|%[0-9A-Fa-f]{2})*)?$`);
const ON_HUB = /^[A-Za-z0-9][A-Za-z0-9._-]*\/[A-Za-z0-9][A-Za-z0-9._-]*$/;
const MAIL = new RegExp(`^[A-Za-z0-9.+_-]+@${HOST}$`);
const [CODES, VERSIONS] = [2 ** BEACON.provider, 2 ** BEACON.version];

const { map, need, integer, bytes, text, oneOf, array } = checks("registry-malformed");

/** A registry from its payload. */
export function readRegistry(payload) {
  const registry = map(
    as("registry-malformed", () => decode(payload, REGISTRY.bytes)),
    ["format", "version", "issued", "expires", "entries"],
    "a registry",
  );
  oneOf(registry.format, ["ctwl-registry/1"], "format");
  integer(registry.version, 1, MAX_VERSION, "version");
  time(registry.issued, "issued");
  integer(registry.expires, registry.issued + 1, MAX_TIME, "expires");
  array(registry.entries, 0, REGISTRY.entries, "entries");
  const taken = new Set();
  const layoutNames = new Set();
  for (const entry of registry.entries) {
    need(entry !== null && typeof entry === "object", "an entry is not a map");
    oneOf(entry.kind, ["provider", "layout", "certificate"], "kind");
    if (entry.kind === "provider") provider(entry);
    else if (entry.kind === "layout") registeredLayout(entry, taken, layoutNames);
    else certificate(entry, registry.issued);
    const what = identity(entry);
    require(!taken.has(what), "code-reused", `${what} is in the registry already`);
    taken.add(what);
  }
  const challenges = registry.entries.filter(({ kind }) => kind === "certificate").map((entry) => hex(entry.challenge));
  need(new Set(challenges).size === challenges.length, "two certificates have one challenge");
  requireApart(registry.entries.filter(({ kind, state }) => kind === "provider" && state === "active"));
  return registry;
}

/** No two of these providers have names that look alike. */
function requireApart(providers) {
  const owners = new Map();
  for (const { code, name: called } of providers) {
    for (const look of looksOf(called)) {
      require((owners.get(look) ?? code) === code, "names-alike", `the name of provider ${code} looks like another's`);
      owners.set(look, code);
    }
  }
}

/** The fields that a map has to have, with those of the optional ones that it has. */
const withOptional = (given, fields, ...optional) => [...fields, ...optional.filter((field) => Object.hasOwn(given, field))];

/** What no two entries share. */
const identity = (entry) =>
  `${entry.kind} ${{ provider: entry.code, layout: entry.number, certificate: entry.commitment && hex(entry.commitment) }[entry.kind]}`;

const time = (value, what) => integer(value, 0, MAX_TIME, what);

const name = (value, what) => need(isName(value), `${what} is not spelled as a name`);

function address(value, forms, what) {
  need(typeof value === "string" && value.length <= REGISTRY.address, `${what} is not a short string`);
  need(forms.some((form) => form.test(value)), `${what} is not of its form`);
}

/** `until` is nil or no earlier than `since`. */
function until(entry, what) {
  if (entry.until === null) return;
  time(entry.until, `${what}'s until`);
  need(entry.until >= entry.since, `${what} ends before it begins`);
}

function provider(entry) {
  const fields = ["kind", "code", "name", "contact", "state", "since", "until", "models", "epochs"];
  map(entry, withOptional(entry, fields, "detector", "reading_model"), "a provider");
  integer(entry.code, 0, CODES - 1, "code");
  name(entry.name, "name");
  address(entry.contact, [PAGE, MAIL], "contact");
  if (Object.hasOwn(entry, "detector")) detector(entry.detector);
  if (Object.hasOwn(entry, "reading_model")) {
    text(entry.reading_model, ON_HUB, "a reading model");
    need(entry.reading_model.length <= REGISTRY.name, "a reading model's name is too long");
  }
  oneOf(entry.state, STATES, "state");
  time(entry.since, "since");
  until(entry, "a provider");
  need((entry.until === null) === (entry.state === "active"), "until is nil exactly while active");
  array(entry.models, 0, REGISTRY.models, "models");
  for (const model of entry.models) {
    map(model, withOptional(model, ["version", "name", "since", "until"], "nonces"), "a model");
    if (Object.hasOwn(model, "nonces")) integer(model.nonces, 1, NONCES, "a model's nonces");
    integer(model.version, 0, VERSIONS - 1, "version");
    name(model.name, "a model's name");
    time(model.since, "since");
    until(model, "a model");
  }
  need(new Set(entry.models.map(({ version }) => version)).size === entry.models.length, "a model version comes once");
  array(entry.epochs, 0, REGISTRY.epochs, "epochs");
  let [least, from] = [0, 0];
  for (const one of entry.epochs) {
    map(one, ["epoch", "since"], "an epoch");
    least = integer(one.epoch, least, 65_535, "an epoch") + 1;
    from = integer(one.since, from, MAX_TIME, "an epoch's since") + 1;
  }
}

/** The provider's own detector: it points, and proves nothing. */
function detector(value) {
  map(value, ["scheme", "url"], "a detector");
  name(value.scheme, "a detector's scheme");
  address(value.url, [PAGE], "a detector's url");
}

function registeredLayout(entry, taken, names) {
  map(entry, ["kind", "number", "name", "owner", "fields"], "a layout");
  integer(entry.number, ...RECORDS.registered, "number");
  text(entry.name, WORD, "a layout's name");
  need(!names.has(entry.name), "another layout has this name");
  names.add(entry.name);
  integer(entry.owner, 0, CODES - 1, "owner");
  need(taken.has(`provider ${entry.owner}`), "a layout's owner is a provider before it");
  array(entry.fields, ...REGISTRY.fields, "fields");
  for (const field of entry.fields) {
    array(field, 2, 2, "a field");
    text(field[0], WORD, "a field's name");
    integer(field[1], 1, 64, "a field's bits");
  }
  const { codes } = as("registry-malformed", () => layout(entry.number, entry.name, entry.fields));
  need(codes >= 2, "a registered layout has several codes");
}

function certificate(entry, issued) {
  map(entry, ["kind", "commitment", "challenge", "owner", "since"], "a certificate");
  bytes(entry.commitment, 32, "commitment");
  bytes(entry.challenge, 32, "challenge");
  name(entry.owner, "owner");
  integer(entry.since, 0, issued, "since");
}

/** How many nonces the texts of a model version have, from 0 on: all where it declares no fewer. */
export const noncesOf = ({ nonces }) => Number(nonces ?? NONCES);

/** The key epoch of a provider at a time: the last that began by then, or null. */
export function epochAt(registry, code, at) {
  const found = registry.entries.find((entry) => entry.kind === "provider" && entry.code === code);
  return found?.epochs.findLast(({ since }) => since <= at)?.epoch ?? null;
}

const same = (a, b) => equal(encode(a), encode(b));

/** History: refuses a registry that may not follow an older one. */
export function requireFollows(older, newer) {
  const kept = new Set(newer.entries.map(identity));
  require(older.entries.every((entry) => kept.has(identity(entry))), "entry-removed", "an entry is missing");
  newer.entries.forEach((entry, i) => {
    if (i < older.entries.length) requireKept(older.entries[i], entry, older.issued);
    else if (entry.kind === "certificate") requireNotBefore(entry.since, older.issued);
  });
}

const requireNotBefore = (since, issued) =>
  require(since >= issued, "entry-backdated", "it lies before the registry that it was not in");

const altered = (holds) => require(holds, "entry-altered", "an entry is not what it was");

function requireKept(old, entry, issued) {
  if (old.kind !== "provider" || entry.kind !== "provider") return altered(same(old, entry));
  const { contact: _, detector: _old, reading_model: _oldModel, state: oldState, until: oldUntil, models: oldModels, epochs: oldEpochs, ...oldRest } = old;
  const { contact: __, detector: _new, reading_model: _newModel, state, until: end, models, epochs, ...rest } = entry;
  altered(same(oldRest, rest));
  altered(STATES.indexOf(state) >= STATES.indexOf(oldState));
  altered(oldUntil === null || oldUntil === end);
  altered(models.length >= oldModels.length && epochs.length >= oldEpochs.length);
  oldModels.forEach(({ nonces: _few, ...model }, i) => {
    const { nonces: _more, ...now } = models[i];
    altered(same({ ...model, until: model.until ?? now.until }, now) && noncesOf(oldModels[i]) <= noncesOf(models[i]));
  });
  oldEpochs.forEach((epoch, i) => altered(same(epoch, epochs[i])));
  if (oldUntil !== end) requireNotBefore(end, issued);
  epochs.slice(oldEpochs.length).forEach(({ since }) => requireNotBefore(since, issued));
}
