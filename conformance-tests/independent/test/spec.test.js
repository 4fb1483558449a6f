/** What no vector asks. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decode, encode } from "../../../packages/ctwl-web/src/canonical.js";
import { decodeText } from "../src/decode.js";
import { layoutOf, recordCodes, recordFields } from "../../../packages/ctwl-web/src/layouts.js";
import { PUBLISHED } from "../src/published.js";
import { charactersOf } from "../src/spans.js";

const TOY = PUBLISHED.get("org.ctwl.toy.1");

test("4.1: what no published document holds is encoded or refused", () => {
  assert.deepEqual(decode(encode(Buffer.alloc(300))), new Uint8Array(300));
  assert.throws(() => encode("\ud800"), { status: "non-canonical" });
});

test("9.2: codes give their fields back, those of the codes that are read", () => {
  const fields = { provider: 42, version: 3, nonce: 17, sealed_user: 2 ** 40 - 99, authenticator: 5 };
  const codes = recordCodes(layoutOf(4), fields);
  assert.deepEqual(recordFields(layoutOf(4), codes), fields);
  const { authenticator: _, ...readable } = fields;
  assert.deepEqual(recordFields(layoutOf(4), [...codes.slice(0, 3), null]), readable);
});

test("10.3: a span ends before white space, U+0085 too", () => {
  const { start, end } = charactersOf("ab \u0085cd", { text: "ab \ncd", source: [0, 1, 2, 3, 4, 5, 6] });
  assert.deepEqual([start(4), end(4), end(6)], [4, 2, 6]);
});

test("10: a text is bounded by its characters, not by its UTF-16 units", () => {
  const beside = (faces) => () => decodeText(TOY, `${"\u{1f600}".repeat(faces)}\ud800`, 0.1);
  assert.throws(beside(2 ** 20 - 1), { status: "not-text" });
  assert.throws(beside(2 ** 20), { status: "input-too-large" });
});
