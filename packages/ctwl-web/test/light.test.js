/** The light vectors of the conformance suite. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../src/index.js";
import { lightTable, lightUnits } from "../src/light.js";
import { toyReader, vectors } from "./folder.js";

test("light-units", () => {
  for (const { id, input, expected } of vectors("light-units")) {
    const units = lightUnits(input.ranks, lightTable(input.sigma));
    for (const [score, row] of Object.entries(expected)) assert.deepEqual(Array.from(units[score]), row, id);
  }
});

const near = (found, stated) => Math.abs(found - Number(stated)) <= 1e-9 * Number(stated);

async function read(reader, { text, alpha }) {
  try {
    const { detected, code, p_value: p, spans } = await reader.read(text, { alpha });
    return { detected, code, p: detected ? p : null, spans: spans.map((span) => [span.code, span.p_value]) };
  } catch (error) {
    if (error instanceof Refusal) return { status: error.status };
    throw error;
  }
}

const SLOW = process.env.CTWL_SLOW === "1";

test("decode-light", async () => {
  const reader = toyReader();
  for (const { id, input, expected } of vectors("decode-light").filter((_, i) => SLOW || i % 4 === 0)) {
    const found = await read(reader, input);
    if (expected.status) {
      assert.deepEqual(found, { status: expected.status }, id);
      continue;
    }
    assert.equal(found.detected, expected.detected, id);
    assert.equal(found.code, expected.code, id);
    if (expected.detected) assert.ok(near(found.p, expected.p_value), `${id}: ${found.p} for ${expected.p_value}`);
    assert.deepEqual(found.spans.map(([code]) => code), expected.spans.map(({ code }) => code), id);
    found.spans.forEach(([, p], i) => assert.ok(near(p, expected.spans[i].p_value), id));
  }
});
