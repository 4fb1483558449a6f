/** 9.5 Sealing. */
import { beaconCode, inRange } from "../../../packages/ctwl-web/src/beacon.js";
import { ascii, concat, hkdf, hmac, u32, word } from "../../../packages/ctwl-web/src/bytes.js";
import { require } from "../../../packages/ctwl-web/src/refusal.js";

const HALF = 2 ** 20;
const ROUNDS = 10;

/** `subkey` of a provider's secret, for a purpose. */
const subkey = (secret, ...purpose) =>
  hkdf(secret, new Uint8Array(0), concat(ascii("ctwl-provider-keys/1 "), ...purpose), 32);

const roundWord = (k, i, r, tweak) => word(hmac(k, Uint8Array.of(i), u32(r), tweak)) % HALF;

/** The key and the tweak of a beacon, whose fields must fit, in an epoch. */
function setting(secret, { provider, version, nonce, epoch }) {
  beaconCode({ provider, version, nonce });
  inRange(epoch, 16, "epoch");
  return [subkey(secret, ascii("seal"), u32(epoch)), u32(provider, version, nonce, epoch)];
}

/** The sealed user, 40 bits, of a user below 2^32. */
export function seal(secret, user, beacon) {
  inRange(user, 32, "user");
  const [k, tweak] = setting(secret, beacon);
  const x = user * 2 ** 8;
  let [l, r] = [Math.floor(x / HALF), x % HALF];
  for (let i = 0; i < ROUNDS; i++) [l, r] = [r, l ^ roundWord(k, i, r, tweak)];
  return l * HALF + r;
}

/** The user of a sealed user; refused (`seal-refused`) where the low bits do not come back as zero. */
export function open(secret, sealed, beacon) {
  inRange(sealed, 40, "sealed_user");
  const [k, tweak] = setting(secret, beacon);
  let [l, r] = [Math.floor(sealed / HALF), sealed % HALF];
  for (let i = ROUNDS - 1; i >= 0; i--) [l, r] = [r ^ roundWord(k, i, l, tweak), l];
  const x = l * HALF + r;
  require(x % 2 ** 8 === 0, "seal-refused", "it was sealed under another secret, beacon or epoch");
  return x / 2 ** 8;
}

/** The authenticator of a record's other codes under a profile. */
export function authenticator(secret, digest, layout, codes) {
  return word(hmac(subkey(secret, ascii("authenticator")), digest, u32(layout, ...codes))) >>> 12;
}

/** The key that colours the authenticator's slot. */
export const authenticatorColourKey = (secret) => subkey(secret, ascii("authenticator colour"));
