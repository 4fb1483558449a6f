/** The reports of the reference on texts of many forms, see parity.py. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { size } from "../src/characters.js";
import { takenOut, variantsOf } from "../src/variants.js";
import { parity, reader, variants } from "./folder.js";

const near = (a, b, what) => assert.ok(Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b)), `${what}: ${a}, ${b}`);

for (const { name, text, variants, hidden } of parity()) {
  test(`${name}: the variants, and what is taken out`, () => {
    const places = takenOut(text).map((each) => ({ ...each, start: size(text.slice(0, each.start)) }));
    assert.deepEqual(places, hidden);
    assert.deepEqual(variantsOf(text).map((variant) => [variant.name, variant.text.text]), variants);
  });
}

for (const { name, text, first = text, second, hidden = [], source = {} } of variants()) {
  test(`variants: ${name}`, () => {
    const found = variantsOf(text);
    assert.deepEqual(found.map((variant) => [variant.name, variant.text.text]), [["as given", first], ...(second ? [second] : [])]);
    assert.deepEqual(takenOut(text).map(({ kind, start, count }) => [kind, size(text.slice(0, start)), count]), hidden);
    const last = found.at(-1).text;
    for (const [words, place] of Object.entries(source)) assert.equal(last.source[last.text.indexOf(words)], place, words);
  });
}

const SLOW = process.env.CTWL_SLOW === "1";
const QUICK = ["marked", "pasted", "variation selectors", "few words", "short", "nothing"];

test("the reports", async () => {
  const own = reader();
  for (const { name, text, report, spans } of parity().filter((row) => SLOW || QUICK.includes(row.name))) {
    const found = await own.read(text);
    for (const [field, value] of Object.entries(report)) {
      if (field === "p_value" || field === "expected") near(found[field], value, `${name}, ${field}`);
      else if (found.p_value < 1) assert.equal(found[field], value, `${name}, ${field}`); // what is best of nothing is chance
    }
    assert.deepEqual(found.spans.map(({ start, end, code }) => [start, end, code]), spans.map((span) => span.slice(0, 3)), name);
    found.spans.forEach(({ p_value: p }, i) => near(p, spans[i][3], name));
  }
});
