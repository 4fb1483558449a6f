/** 9.1 Codes: the beacon. */
import { RECORDS } from "./numbers.js";
import { Refusal } from "./refusal.js";

/** Bits of the fields, most significant first. */
export const BEACON = RECORDS.beacon;
export const CODE_BITS = Object.values(BEACON).reduce((a, b) => a + b);
export const NONCES = 2 ** BEACON.nonce;
const VERSIONS = 2 ** BEACON.version;

function inRange(value, bits, name) {
  const integer = typeof value === "bigint" || Number.isSafeInteger(value);
  if (!integer || value < 0 || value >= 2 ** bits) {
    throw new Refusal("field-out-of-range", `${name} does not fit ${bits} bits`);
  }
}

/** A beacon's code. */
export function beaconCode(fields) {
  for (const [name, bits] of Object.entries(BEACON)) inRange(fields[name], bits, name);
  return (fields.provider * VERSIONS + fields.version) * NONCES + fields.nonce;
}

/** The codes of beacons, `[provider, version, nonces]` each, ascending: a Map by how many nonces a beacon has. */
export function codesByNonces(beacons) {
  const found = new Map();
  for (const [provider, version, nonces] of beacons) {
    if (!found.has(nonces)) found.set(nonces, []);
    for (let nonce = 0; nonce < nonces; nonce++) found.get(nonces).push(beaconCode({ provider, version, nonce }));
  }
  return new Map(Array.from(found, ([nonces, codes]) => [nonces, Uint32Array.from(codes).sort()]));
}

/** A code's beacon. */
export function beaconFields(code) {
  inRange(code, CODE_BITS, "code");
  const above = Math.floor(code / NONCES);
  return { provider: Math.floor(above / VERSIONS), version: above % VERSIONS, nonce: code % NONCES };
}

export { inRange };
