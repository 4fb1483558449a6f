/** 4.5 and 4.6 Private, personal and certified profiles, commitments. */
import { ascii, concat, equal, hex, hkdf, sha256, utf8 } from "../../../packages/ctwl-web/src/bytes.js";
import { encode } from "../../../packages/ctwl-web/src/canonical.js";
import { digest, profileFromBytes, publicKey } from "../../../packages/ctwl-web/src/profile.js";
import { PUBLISHED } from "./published.js";
import { require } from "../../../packages/ctwl-web/src/refusal.js";

/** Refuses (`profile-not-private`) a profile that anyone can write under. */
export function requirePrivate(profile) {
  const names = [profile.name, ...PUBLISHED.keys()];
  const known = names.some((name) => equal(publicKey(name), profile.key));
  require(!known && !profile.name.startsWith("org.ctwl."), "profile-not-private", "the profile is a public one");
}

const derive = (profile, info, length) => hkdf(profile.key, digest(profile), info, length);

/** A user's profile: the provider's with another name and key. */
export function personalProfile(profile, user) {
  requirePrivate(profile);
  require(user.isWellFormed(), "user-malformed", "an id is Unicode text");
  const id = utf8(user.normalize("NFC"));
  require(id.length >= 1 && id.length <= 1024, "user-malformed", "an id has 1 to 1024 bytes");
  const tag = derive(profile, concat(ascii("ctwl-private/1/user-name/"), id), 16);
  const key = derive(profile, concat(ascii("ctwl-private/1/user-key/"), id), 32);
  return changed(profile, `user-${hex(tag)}`, key);
}

/** The profile with another key, and its name with a part before the version. */
function changed(profile, part, key) {
  const name = profile.name.replace(/(\.[0-9]+)$/, `.${part}$1`);
  return profileFromBytes(encode({ ...profile, name, key }));
}

/** The commitment to a private profile. */
export function commitment(profile) {
  requirePrivate(profile);
  const salt = derive(profile, ascii("ctwl-private/1/commitment-salt"), 32);
  return sha256(ascii("ctwl-commitment/1"), salt, encode(profile));
}

/** What marks, of a profile that was committed to and a certificate's challenge. */
export function certifiedProfile(profile, challenge) {
  requirePrivate(profile);
  const key = derive(profile, concat(ascii("ctwl-private/1/certified-key/"), challenge), 32);
  return changed(profile, "certified", key);
}
