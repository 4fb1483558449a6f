/** 9.6 Root. */
import { ascii, compare, equal, hex, sha256 } from "./bytes.js";
import { decode } from "./canonical.js";
import { isSuitable, publicKeyOf } from "./ed25519.js";
import { REGISTRY } from "./numbers.js";
import { as, require } from "./refusal.js";
import { checks } from "./schema.js";

export const MAX_TIME = REGISTRY.end_of_time - 1;
export const MAX_VERSION = 2n ** 63n - 1n;

const { map, need, integer, bytes, oneOf, array } = checks("root-malformed");

/** The keys that everybody can sign with. */
export const TEST_KEYS = Array.from({ length: REGISTRY.test_keys }, (_, n) =>
  publicKeyOf(sha256(ascii("ctwl-registry/test-key"), Uint8Array.of(n))),
);

/** A root from its payload. */
export function readRoot(payload) {
  const root = map(
    as("root-malformed", () => decode(payload, REGISTRY.root_bytes)),
    ["format", "use", "version", "expires", "root", "registry"],
    "a root",
  );
  oneOf(root.format, ["ctwl-root/1"], "format");
  oneOf(root.use, ["production", "test"], "use");
  integer(root.version, 1, MAX_VERSION, "version");
  integer(root.expires, 0, MAX_TIME, "expires");
  role(root.root, "root");
  role(root.registry, "registry");
  const keys = [...root.root.keys, ...root.registry.keys];
  require(keys.every(isSuitable), "key-unsuitable", "a key that may not be enrolled");
  require(new Set(keys.map(hex)).size === keys.length, "key-in-two-roles", "one key signs roots and registries");
  const test = keys.some((key) => TEST_KEYS.some((one) => equal(one, key)));
  require(root.use === "test" || !test, "test-key-in-production", "everybody can sign with a test key");
  return root;
}

function role(value, what) {
  map(value, ["threshold", "keys"], what);
  array(value.keys, 1, REGISTRY.keys, `${what}'s keys`);
  value.keys.forEach((key, i) => {
    bytes(key, 32, "a key");
    need(i === 0 || compare(value.keys[i - 1], key) < 0, "keys are not distinct and ascending");
  });
  integer(value.threshold, 1, value.keys.length, `${what}'s threshold`);
}
