/** The light vectors of the conformance suite. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../src/index.js";
import { toyReader, vectors } from "./folder.js";

const near = (found, stated) => Math.abs(found - Number(stated)) <= 1e-9 * Number(stated);

const readers = { "org.ctwl.toy.1": toyReader(), "org.ctwl.toy.2": toyReader("org.ctwl.toy.2") };

async function read({ profile = "org.ctwl.toy.1", text, code_units: units, alpha }) {
  try {
    const report = await readers[profile].read(text ?? String.fromCharCode(...units), { alpha });
    const { detected, code, p_value: p, spans } = report;
    return { detected, code, p: detected ? p : null, spans: spans.map((span) => [span.code, span.p_value]), places: spans };
  } catch (error) {
    if (error instanceof Refusal) return { status: error.status };
    throw error;
  }
}

const SLOW = process.env.CTWL_SLOW === "1";

test("decode-light", async () => {
  for (const { id, input, expected } of vectors("decode-light").filter((_, i) => SLOW || i % 4 === 0)) {
    const found = await read(input);
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

test("decode-light-places", async () => {
  for (const { id, input, expected } of vectors("decode-light-places").filter((_, i) => SLOW || i % 4 === 0)) {
    const { places } = await read(input);
    assert.deepEqual({ spans: places.map(({ start, end, code }) => ({ start, end, code })) }, expected, id);
  }
});
