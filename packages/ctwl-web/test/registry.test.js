/** A registry as large as it may be is read. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { encode } from "../src/canonical.js";
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
