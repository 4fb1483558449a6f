/** A registry as large as it may be is read. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { encode } from "../src/canonical.js";
import { Names } from "../src/names.js";
import { readRegistry } from "../src/registry.js";

const ISSUED = 1_800_000_000;

test("seven thousand entries", () => {
  const entries = Array.from({ length: 7_000 }, (_, number) => {
    const commitment = new Uint8Array(32);
    new DataView(commitment.buffer).setUint32(0, number);
    return { kind: "certificate", commitment, challenge: commitment, owner: `Öwner ${number}`, since: ISSUED };
  });
  const head = { format: "ctwl-registry/1", version: 1, issued: ISSUED, expires: ISSUED + 1 };
  assert.equal(readRegistry(encode({ ...head, entries })).entries.length, entries.length);
});

test("the codes of registered beacons have the nonces that their models declare", () => {
  const models = [{ version: 3, nonces: 8 }, { version: 4 }];
  const names = new Names({}, { entries: [{ kind: "provider", code: 42, models }, { kind: "provider", code: 7, models: [{ version: 0, nonces: 1 }] }] });
  const first = (42 * 16 + 3) * 64;
  const codes = (nonces, from) => [nonces, Uint32Array.from({ length: nonces }, (_, i) => from + i)];
  assert.deepEqual(names.codesByNonces, new Map([codes(8, first), codes(64, first + 64), codes(1, 7 * 1024)]));
});

test("the model that reads a provider's texts best is named, not for a revoked provider", () => {
  const entry = { kind: "provider", name: "Example", models: [], reading_model: "example/model" };
  const names = new Names({}, { entries: [{ ...entry, code: 1, state: "active" }, { ...entry, code: 2, state: "revoked" }] });
  assert.deepEqual(names.betterReader(1), { provider: 1, name: "Example", reading_model: "example/model" });
  assert.equal(names.betterReader(2), null);
  assert.equal(names.betterReader(3), null);
});
