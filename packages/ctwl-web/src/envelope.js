/** 9.6 Envelopes. */
import { ascii, compare, concat, equal, utf8 } from "./bytes.js";
import { decode } from "./canonical.js";
import { isSigned } from "./ed25519.js";
import { REGISTRY } from "./numbers.js";
import { as, require } from "./refusal.js";
import { checks } from "./schema.js";

const { map, need, bytes, oneOf, array } = checks("envelope-malformed");

/** What is signed: the pre-authentication encoding of DSSE v1. */
export function preAuthentication(type, payload) {
  return concat(ascii(`DSSEv1 ${utf8(type).length} `), utf8(type), ascii(` ${payload.length} `), payload);
}

/** An envelope of the type that is wanted. */
export function readEnvelope(encoded, type) {
  const envelope = map(
    as("envelope-malformed", () => decode(encoded, REGISTRY.envelope_bytes)),
    ["format", "type", "payload", "signatures"],
    "an envelope",
  );
  oneOf(envelope.format, ["ctwl-envelope/1"], "format");
  oneOf(envelope.type, [type], "type");
  need(envelope.payload instanceof Uint8Array, "payload is not a byte string");
  array(envelope.signatures, 0, REGISTRY.signatures, "signatures");
  let before = null;
  for (const one of envelope.signatures) {
    map(one, ["key", "signature"], "a signature");
    bytes(one.key, 32, "a key");
    bytes(one.signature, 64, "a signature");
    const order = before ? compare(before, one.key) : -1;
    require(order !== 0, "signature-repeated", "a key signed twice");
    need(order < 0, "keys are not in ascending order");
    before = one.key;
  }
  return envelope;
}

/** The payload, once the threshold of a role has signed it: the payload is not parsed before. */
export function signedPayload(envelope, { threshold, keys }) {
  const message = preAuthentication(envelope.type, envelope.payload);
  const ofRole = envelope.signatures.filter(({ key }) => keys.some((one) => equal(key, one)));
  const valid = ofRole.filter(({ key, signature }) => isSigned(key, message, signature));
  require(valid.length >= threshold, "threshold-not-met", `${valid.length} of ${threshold} signatures`);
  return envelope.payload;
}
