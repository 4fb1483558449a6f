/** The names that a signed registry has for codes (9.6). It says who owns a code, not that a text came from them. */
import { codesByNonces } from "./beacon.js";
import { readEnvelope, signedPayload } from "./envelope.js";
import { layout, LAYOUTS } from "./layouts.js";
import { noncesOf, readRegistry } from "./registry.js";
import { readRoot } from "./root.js";

const day = (seconds) => new Date(1000 * Number(seconds)).toISOString().slice(0, 10);

/** A registry whose signatures hold. */
export class Names {
  /**
   * @param root the envelope of a root, which came by a channel that is trusted; its own keys must have signed it
   * @param registry the envelope of a registry, which the keys that the root lists must have signed
   */
  static verified(root, registry) {
    const envelope = readEnvelope(root, "ctwl-root/1");
    const trusted = readRoot(envelope.payload);
    signedPayload(envelope, trusted.root);
    return new Names(trusted, readRegistry(signedPayload(readEnvelope(registry, "ctwl-registry/1"), trusted.registry)));
  }

  constructor(root, registry) {
    this.root = root;
    this.registry = registry;
    this.providers = new Map(registry.entries.filter(({ kind }) => kind === "provider").map((entry) => [entry.code, entry]));
  }

  /**
   * The codes of every registered pair of provider and version, ascending, with the nonces that its texts may have: by
   * their number.
   */
  get codesByNonces() {
    const models = Array.from(this.providers.values()).flatMap(({ code, models }) => models.map((model) => [code, model]));
    return codesByNonces(models.map(([provider, model]) => [provider, model.version, noncesOf(model)]));
  }

  /** The specification's layouts and the registered ones, each of these with its `owner`, a provider. */
  get layouts() {
    const registered = this.registry.entries.filter(({ kind }) => kind === "layout");
    return [...LAYOUTS, ...registered.map(({ number, name, fields, owner }) => ({ ...layout(number, name, fields), owner: Number(owner) }))];
  }

  /** A beacon with its names. */
  hop(beacon) {
    const owner = this.providers.get(beacon.provider);
    const model = owner?.models.find(({ version }) => version === beacon.version);
    return { ...beacon, name: owner?.name ?? null, model: model?.name ?? null, state: owner?.state ?? "unregistered" };
  }

  /** Where to ask about beacons: the providers' own detectors, each once (9.8); nowhere for a code that was revoked. */
  signposts(beacons) {
    const codes = new Set(beacons.map(({ provider }) => provider));
    const owners = Array.from(codes, (code) => this.providers.get(code)).filter((owner) => owner?.detector && owner.state !== "revoked");
    return owners.map(({ code, name, detector: { scheme, url } }) => ({ provider: code, name, scheme, url }));
  }

  /** The open language model that reads a provider's texts best, as its entry says; null where it names none. */
  betterReader(provider) {
    const owner = this.providers.get(provider);
    if (!owner?.reading_model || owner.state === "revoked") return null;
    return { provider, name: owner.name, reading_model: owner.reading_model };
  }

  /** Which registry this is: `{test, version, issued, expires, expired}`, days as YYYY-MM-DD. */
  about(now = Date.now() / 1000) {
    const { version, issued, expires } = this.registry;
    const ends = Math.min(Number(expires), Number(this.root.expires));
    return { test: this.root.use === "test", version, issued: day(issued), expires: day(ends), expired: now >= ends };
  }
}
