/** 9.7 Secrets at rest. */
import { createDecipheriv, scryptSync } from "node:crypto";
import { utf8 } from "../../../packages/ctwl-web/src/bytes.js";
import { decode } from "../../../packages/ctwl-web/src/canonical.js";
import { as, Refusal, require } from "../../../packages/ctwl-web/src/refusal.js";
import { checks } from "../../../packages/ctwl-web/src/schema.js";

const PURPOSES = ["ctwl-profile/1", "ctwl-provider-keys/1", "ctwl-registry-key/1"];
const SCRYPT = { N: 2 ** 15, r: 8, p: 1, maxmem: 2 ** 26 };
const TAG = 16;

/** The secret in a file's bytes, for the purpose it is wanted for. */
export function openSecret(bytes, passphrase, purpose) {
  const { map, need, bytes: sized } = checks("key-file-malformed");
  const file = map(
    as("key-file-malformed", () => decode(bytes)),
    ["format", "purpose", "salt", "nonce", "secret"],
    "the file",
  );
  need(file.format === "ctwl-secret/1", "another format");
  need(PURPOSES.includes(file.purpose) && file.purpose === purpose, "a file for another purpose");
  sized(file.salt, 16, "salt");
  sized(file.nonce, 12, "nonce");
  need(file.secret instanceof Uint8Array && file.secret.length >= TAG, "secret is too short");
  // Only now the work that costs.
  const key = scryptSync(utf8(passphrase.normalize("NFC")), file.salt, 32, SCRYPT);
  const cipher = createDecipheriv("chacha20-poly1305", key, file.nonce, { authTagLength: TAG });
  const behind = file.secret.length - TAG;
  cipher.setAAD(utf8(purpose), { plaintextLength: behind });
  cipher.setAuthTag(file.secret.subarray(behind));
  const secret = cipher.update(file.secret.subarray(0, behind));
  try {
    cipher.final();
  } catch {
    throw new Refusal("key-file-locked", "another passphrase, or the file was altered");
  }
  return secret;
}

/** The 32 bytes of a provider's secret in its file. */
export function openProviderSecret(bytes, passphrase) {
  const secret = as("key-file-malformed", () => decode(openSecret(bytes, passphrase, "ctwl-provider-keys/1")), ["key-file-locked"]);
  require(secret instanceof Uint8Array && secret.length === 32, "key-file-malformed", "not 32 bytes");
  return secret;
}

/** The 32 bytes of a registry key's seed in its file. */
export function openRegistrySecret(bytes, passphrase) {
  const secret = openSecret(bytes, passphrase, "ctwl-registry-key/1");
  require(secret.length === 32, "key-file-malformed", "not 32 bytes");
  return secret;
}
