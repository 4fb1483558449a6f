/** 9.2 Layouts and 9.3 relay. A layout is `{number, name, fields: [[name, bits], ...]}`. */
import { BEACON as BITS, CODE_BITS, inRange } from "./beacon.js";
import { RECORDS } from "./numbers.js";
import { Refusal, require } from "./refusal.js";

const BEACON = Object.entries(BITS);
const hop = (i) => BEACON.map(([name, bits]) => [`${name}_${i}`, bits]);

/** The layouts of this specification. */
export const LAYOUTS = RECORDS.layouts.map(({ number, name, fields }) => layout(number, name, [...BEACON, ...fields]));

/** The layouts of nothing but beacons, the shortest first. */
const RELAYS = LAYOUTS.filter(({ codes, hops }) => codes === hops).toSorted((one, other) => one.codes - other.codes);

/** A layout, checked, with `codes`, `hops` and `authenticated`; refused as `layout-malformed`. */
export function layout(number, name, fields) {
  const need = (holds, why) => require(holds, "layout-malformed", why);
  need(Number.isInteger(number) && number >= 1 && number <= 255, "a number is 1 to 255");
  need(fields.every(([, bits]) => Number.isInteger(bits) && bits >= 1), "a field has a bit at least");
  need(new Set(fields.map(([field]) => field)).size === fields.length, "a field's name comes once");
  const width = fields.reduce((sum, [, bits]) => sum + bits, 0);
  need(width % CODE_BITS === 0 && width >= CODE_BITS && width <= RECORDS.codes * CODE_BITS, `fields fill 1 to ${RECORDS.codes} codes`);
  need(BEACON.every(([field, bits], i) => fields[i]?.[0] === field && fields[i][1] === bits), "the beacon comes first");
  const at = fields.findIndex(([field]) => field === "authenticator");
  need(at < 0 || (at === fields.length - 1 && fields[at][1] === CODE_BITS), "an authenticator is the last code");
  let hops = 1;
  while (hop(hops).every(([field, bits], i) => fields[3 * hops + i]?.[0] === field && fields[3 * hops + i][1] === bits)) hops++;
  return { number, name, fields, codes: width / CODE_BITS, hops, authenticated: at >= 0 };
}

export function layoutOf(number, known = LAYOUTS) {
  const found = known.find((one) => one.number === number);
  if (!found) throw new Refusal("layout-unknown", "no layout of this number is known");
  return found;
}

/** The codes of a record: its fields, most significant first, as one number. */
export function recordCodes({ fields: widths, codes }, fields) {
  const missing = widths.find(([name]) => !Object.hasOwn(fields, name));
  require(!missing && Object.keys(fields).length === widths.length, "field-out-of-range", "other fields than the layout's");
  let number = 0n;
  for (const [name, bits] of widths) {
    inRange(fields[name], bits, name);
    number = (number << BigInt(bits)) | BigInt(fields[name]);
  }
  return Array.from({ length: codes }, (_, j) => Number((number >> BigInt(CODE_BITS * (codes - 1 - j))) & (2n ** BigInt(CODE_BITS) - 1n)));
}

/** The fields of a record's codes. Those of an authenticator that is not known (`null`) are left out. */
export function recordFields({ fields: widths }, codes) {
  let number = codes.reduce((sum, code) => (sum << BigInt(CODE_BITS)) | BigInt(code ?? 0), 0n);
  const found = [];
  for (const [name, bits] of widths.toReversed()) {
    found.unshift([name, Number(number & ((1n << BigInt(bits)) - 1n))]);
    number >>= BigInt(bits);
  }
  return Object.fromEntries(found.filter(([name]) => name !== "authenticator" || codes.at(-1) !== null));
}

/** 9.3 The layout and codes that carry a chain of beacons (the newest first) on behind one's own. */
export function relay(chain, own, full = "drop") {
  [own, ...chain].forEach((code) => inRange(code, CODE_BITS, "a beacon"));
  require(chain.length < RELAYS.length || full === "drop", "relay-full", `the chain has ${chain.length} hops already`);
  const codes = [own, ...chain].slice(0, RELAYS.length);
  return { layout: RELAYS[codes.length - 1].number, codes };
}
