/** Reading by several profiles, as the reference does, see parity.py. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readBy } from "../src/index.js";
import { byProfiles, reader } from "./folder.js";

const near = (a, b, what) => assert.ok(Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b)), `${what}: ${a}, ${b}`);
const readers = ["org.ctwl.gpt2.1", "org.ctwl.smollm2-135m.1"].map(reader);

for (const { name, text, report, held_back: held, profiles } of byProfiles()) {
  test(`${name}: the report pays for all profiles`, async () => {
    const found = await readBy(readers, text);
    for (const field of ["outcome", "profile", "code", "alpha"]) assert.equal(found[field], report[field], field);
    near(found.p_value, report.p_value, "p");
    assert.equal(found.held_back?.rule ?? null, held?.rule ?? null);
    if (held) near(found.held_back.needed, held.needed, "needed");
    if (held) assert.equal(found.held_back.contexts, held.contexts);
    assert.deepEqual(found.profiles.map((each) => [each.name, each.read, each.outcome]), profiles.map((each) => [each.name, each.read, each.outcome]));
    profiles.forEach(({ p_value: p }, i) => near(found.profiles[i].p_value, p, name));
  });
}

test("a registered mark is told before all codes are tried", async () => {
  const early = [];
  await readBy(readers, byProfiles().find(({ name }) => name === "human").text, { onRegistered: (report) => early.push(report) });
  assert.deepEqual(early.map(({ outcome }) => outcome), ["none"]);
});
