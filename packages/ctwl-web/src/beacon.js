/** 9.1 Codes: the beacon. */
import { Refusal } from "./refusal.js";

export const CODE_BITS = 20;

function inRange(value, bits, name) {
  const integer = typeof value === "bigint" || Number.isSafeInteger(value);
  if (!integer || value < 0 || value >= 2 ** bits) {
    throw new Refusal("field-out-of-range", `${name} does not fit ${bits} bits`);
  }
}

/** A beacon's code. */
export function beaconCode({ provider, version, nonce }) {
  inRange(provider, 10, "provider");
  inRange(version, 4, "version");
  inRange(nonce, 6, "nonce");
  return provider * 2 ** 10 + version * 2 ** 6 + nonce;
}

/** A code's beacon. */
export function beaconFields(code) {
  inRange(code, CODE_BITS, "code");
  return { provider: code >>> 10, version: (code >>> 6) & 15, nonce: code & 63 };
}

export { inRange };
