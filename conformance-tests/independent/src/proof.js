/** 4.6 Proofs. */
import { equal } from "../../../packages/ctwl-web/src/bytes.js";
import { decode } from "../../../packages/ctwl-web/src/canonical.js";
import { decodeText } from "./decode.js";
import { normalize } from "../../../packages/ctwl-web/src/normalization.js";
import { certifiedProfile, commitment, requirePrivate } from "./private.js";
import { claimedFromBytes } from "../../../packages/ctwl-web/src/profile.js";
import { as, require } from "../../../packages/ctwl-web/src/refusal.js";
import { checks } from "../../../packages/ctwl-web/src/schema.js";
import { lookAlike } from "../../../packages/ctwl-web/src/spelling.js";

const { map, need, integer, oneOf } = checks("proof-malformed");

/** A proof from its bytes. */
export function readProof(bytes) {
  const proof = map(
    as("proof-malformed", () => decode(bytes)),
    ["format", "profile", "text", "code"],
    "a proof",
  );
  oneOf(proof.format, ["ctwl-proof/1"], "format");
  need(proof.profile instanceof Uint8Array, "profile is not a byte string");
  need(typeof proof.text === "string" && proof.text !== "", "text is not a text, or empty");
  need(proof.text === as("proof-malformed", () => normalize(proof.text)), "text is not normalized");
  const profile = as("proof-malformed", () => claimedFromBytes(proof.profile));
  integer(proof.code, 0, 2 ** 24 - 1, "code");
  return { ...proof, profile };
}

/**
 * Refuses a proof that shows nothing.
 *
 * @param bytes of the proof
 * @param registry that was verified
 * @param day the first instant of the day on which the text appeared, never taken from the proof
 * @param text the text in question, or null
 * @param alpha the level
 */
export function verifyProof(bytes, registry, day, text, alpha) {
  const { profile, text: shown, code } = readProof(bytes);
  // 1.
  requirePrivate(profile);
  const committed = commitment(profile);
  const certificates = registry.entries.filter(({ kind }) => kind === "certificate");
  const certificate = certificates.find((one) => equal(committed, one.commitment));
  require(certificate, "proof-uncertified", "the registry has no certificate of this profile");
  const marking = certifiedProfile(profile, certificate.challenge);
  // 2.
  require(certificate.since < day, "proof-late", "certified on the day of the text or later");
  // 3.
  require(text === null || normalize(text) === shown, "proof-text-differs", "a proof of another text");
  // 4.
  const keys = certificates.filter((one) => lookAlike(one.owner, certificate.owner) && one.since < day).length;
  const { spans } = decodeText(marking, shown, alpha / keys);
  const carried = spans.some((span) => span.code === code);
  require(carried, "proof-unfounded", "the text does not carry the code clearly enough");
}
