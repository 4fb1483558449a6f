/** The published vectors. Those that read whole texts take seconds each and are asked with `CTWL_SLOW=1`. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { answer, FAMILIES } from "../src/families.js";

const FOLDER = new URL("../../vectors/v1/", import.meta.url);
const readsTexts = (tests) => tests.some(({ input }) => "alpha" in input);

/** A decimal number agrees if it differs by at most 1e-9 of it; all below 1e-300 count as that. */
const DECIMAL = /^[0-9]\.[0-9]{11}e[+-][0-9]{2,3}$/;
function near(expected, found) {
  const [x, y] = [Number(expected), Number(found)];
  return Math.max(x, y) <= 1e-300 || Math.abs(x - y) <= 1e-9 * Math.max(x, y);
}

/** The answer as JSON has it, every number that is near the expected decimal replaced by that. */
function asExpected(found, expected) {
  if (typeof expected === "string" && DECIMAL.test(expected)) return near(expected, found) ? expected : found;
  if (Array.isArray(found)) return found.map((item, i) => asExpected(item, expected?.[i]));
  if (found !== null && typeof found === "object") {
    return Object.fromEntries(Object.keys(found).map((key) => [key, asExpected(found[key], expected?.[key])]));
  }
  return Object.is(found, -0) ? 0 : found;
}

const unknown = [];
for (const file of readdirSync(FOLDER).filter((name) => name.endsWith(".json") && name !== "manifest.json")) {
  const { family, tests } = JSON.parse(readFileSync(new URL(file, FOLDER), "utf8"));
  if (!(family in FAMILIES)) unknown.push(family);
  else if (process.env.CTWL_SLOW === "1" || !readsTexts(tests)) {
    test(family, () => {
      for (const { id, input, expected } of tests) assert.deepEqual(asExpected(answer(family, input), expected), expected, id);
    });
  }
}

test("every family is known", () => assert.deepEqual(unknown, []));
