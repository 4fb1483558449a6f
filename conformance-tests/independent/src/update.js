/** 9.6 Update: what a registry client does with what it is offered. The numbers are the specification's steps. */
import { equal } from "../../../packages/ctwl-web/src/bytes.js";
import { readEnvelope, signedPayload } from "../../../packages/ctwl-web/src/envelope.js";
import { as, require } from "../../../packages/ctwl-web/src/refusal.js";
import { readRegistry, requireFollows } from "../../../packages/ctwl-web/src/registry.js";
import { readRoot } from "../../../packages/ctwl-web/src/root.js";

const DAY = 86_400;

/**
 * The state that is trusted next: `{root, registry, latest}`, documents; nothing is persisted where a step refuses.
 *
 * @param trusted `{root, registry, latest}`: envelopes (bytes; a registry may be null) and the latest time seen
 * @param roots envelopes, in order
 * @param registry an envelope, or null
 * @param clock seconds
 */
export function update(trusted, roots, registry, clock) {
  // 1. Load the trusted state.
  const stored = (work) => as("registry-state-malformed", work);
  const vouched = stored(() => readEnvelope(trusted.root, "ctwl-root/1"));
  const first = stored(() => readRoot(vouched.payload));
  stored(() => signedPayload(vouched, first.root));
  const held = trusted.registry && stored(() => readEnvelope(trusted.registry, "ctwl-registry/1"));
  const old = held && stored(() => readRegistry(signedPayload(held, first.registry)));

  // 2. Each root offered.
  let root = first;
  for (const bytes of roots) root = nextRoot(root, readEnvelope(bytes, "ctwl-root/1"));

  // 3. The last root has not expired.
  require(clock < root.expires, "root-expired", "the root's time is over");

  // 4. The registry, or the trusted one in its place, is signed.
  const envelope = registry ? readEnvelope(registry, "ctwl-registry/1") : held;
  require(envelope, "registry-unreadable", "there is no registry");
  const payload = signedPayload(envelope, root.registry);
  const next = registry ? readRegistry(payload) : old;

  if (old && registry) {
    // 5. Neither version nor issued goes back.
    const taken = first.registry.keys.some((key) => !root.registry.keys.some((one) => equal(one, key)));
    require(next.issued >= old.issued, "registry-rolled-back", "it was issued before the trusted one");
    require(taken || next.version >= old.version, "registry-rolled-back", "an older version");
    const forked = BigInt(next.version) === BigInt(old.version) && !equal(payload, held.payload);
    require(!forked, "registry-forked", "another registry of the same version");
    // 6. It may follow.
    requireFollows(old, next);
  }

  // 7. A registry that is offered has not expired.
  require(!registry || clock < next.expires, "registry-expired", "the registry's time is over");

  // 8. The clock.
  const seen = Math.max(trusted.latest, next.issued);
  require(clock >= seen - DAY, "clock-set-back", "the clock is more than a day behind");

  // 9. Persist.
  return { root, registry: next, latest: Math.max(clock, seen) };
}

/** 2. The root in an envelope, if it may follow the trusted one. */
function nextRoot(trusted, envelope) {
  const root = readRoot(signedPayload(envelope, trusted.root));
  signedPayload(envelope, root.root);
  require(root.use === trusted.use, "root-use-differs", "a root for another use");
  const next = BigInt(trusted.version) + 1n;
  require(BigInt(root.version) === next, "root-out-of-sequence", `the root of version ${next} comes next`);
  return root;
}
