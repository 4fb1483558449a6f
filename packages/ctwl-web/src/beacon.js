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

/** A code's beacon. */
export function beaconFields(code) {
  inRange(code, CODE_BITS, "code");
  const above = Math.floor(code / NONCES);
  return { provider: Math.floor(above / VERSIONS), version: above % VERSIONS, nonce: code % NONCES };
}

export { inRange };
