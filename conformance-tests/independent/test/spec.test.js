/** Steps of whole texts, which the vectors show slowly, and what no vector asks. */
import assert from "node:assert/strict";
import { createHmac, hkdfSync } from "node:crypto";
import { test } from "node:test";
import { hkdf, utf8 } from "../../../packages/ctwl-web/src/bytes.js";
import { decode, encode } from "../../../packages/ctwl-web/src/canonical.js";
import { decodeText } from "../src/decode.js";
import { layoutOf, recordCodes, recordFields } from "../../../packages/ctwl-web/src/layouts.js";
import { PUBLISHED } from "../src/published.js";
import { bestBeacons, score, windowBests } from "../src/search.js";
import { charactersOf, growing, joined } from "../src/spans.js";

const TOY = PUBLISHED.get("org.ctwl.toy.1");

test("HKDF is node's, as far as node's goes", () => {
  const info = Buffer.from("info");
  const known = new Uint8Array(hkdfSync("sha256", "k", "s", info, 50));
  assert.deepEqual(hkdf(utf8("k"), utf8("s"), info, 50), known);
  assert.equal(hkdf(Buffer.from("k"), Buffer.alloc(0), Buffer.alloc(2000), 32).length, 32);
});

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

/** Rows of made-up units: by a hash, the same everywhere. */
function madeUp(count, colours) {
  return Array.from({ length: count }, (_, i) => {
    const bytes = createHmac("sha512", "rows").update(`${i}`).digest();
    const units = Int32Array.from({ length: colours }, (_, a) => (bytes[a] % 19) - 13);
    return { seed: bytes.readInt32LE(60), units, group: 2 ** (1 + (i % 4)) - 1, zeros: 1 + (i % 4) };
  });
}

test("10, step 6: the searches agree with the score of each code", () => {
  const [bits, colours] = [10, 33];
  const rows = madeUp(40, colours);
  const scoresOf = (n, from, behind) => {
    const some = rows.slice(from, behind).filter(({ zeros }) => n <= zeros);
    return Array.from({ length: 2 ** bits }, (_, code) => score(some, code, colours));
  };
  const best = (scores) => ({ code: scores.indexOf(Math.max(...scores)), score: Math.max(...scores) });
  const lists = bestBeacons(rows, bits);
  [1, 2, 3, 4].forEach((n, i) => {
    const scores = scoresOf(n);
    assert.deepEqual(lists[i][0], best(scores));
    assert.ok(lists[i].every(({ code, score: found }) => scores[code] === found));
  });
  const bests = windowBests(rows, [[[8, 32]], [[0, 16], [8, 40]], [], []], bits, colours);
  assert.deepEqual(bests[0][0], best(scoresOf(1, 8, 32)));
  assert.deepEqual(bests[1].slice(0, 2), [best(scoresOf(2, 0, 16)), best(scoresOf(2, 8, 40))]);
  const few = [3, 500, 1023];
  assert.ok(bestBeacons(rows, bits, few)[0].every(({ code }) => few.includes(code)));
});

test("10.3: a stretch ends where its sum is used up or falls by more than 72", () => {
  const stretches = [[1, 3], [4, 5], [6, 7]].map(([from, behind]) => ({ from, behind }));
  assert.deepEqual(growing([-1, 5, 3, -8, 80, -73, 4]), stretches);
  assert.deepEqual(growing([80, -72, 73, -1]), [{ from: 0, behind: 3 }]);
  assert.deepEqual(growing([0, -5]), []);
});

test("10.3: neighbours of one code with little between are one span, and the smaller p-value stays", () => {
  const span = (from, behind, code, p) => ({ from, behind, code, p });
  const [one, near, far, other] = [span(0, 9, 1, 0.2), span(13, 20, 1, 0.1), span(25, 30, 1, 0.3), span(10, 12, 2, 0.1)];
  assert.deepEqual(joined([far, near, one], 4), [span(0, 20, 1, 0.1), far]);
  assert.deepEqual(joined([one, other, near], 4), [one, other, near]);
});

test("10.3: a span ends before white space, U+0085 too", () => {
  const { start, end } = charactersOf("ab \u0085cd", { text: "ab \ncd", source: [0, 1, 2, 3, 4, 5, 6] });
  assert.deepEqual([start(4), end(4), end(6)], [4, 2, 6]);
});

test("a marked text is read, its twin under another key is not", () => {
  const text =
    "rmyKDJHpIpZTYdvloYtdcZPnvLDBUMPtWMmWuBGjkfjHOoreDZMibRxUcHPdWaDWjTy LTitSdVuF kMQPkKvCwAPNQ nsoYXbXS";
  const { detected, code, spans, record } = decodeText(TOY, `\n${text}`, 1e-4);
  assert.ok(detected);
  assert.equal(code, 0);
  assert.deepEqual([spans[0].start, spans[0].end], [1, text.length + 1]);
  assert.deepEqual(record, { layout: 1, fields: { provider: 0, version: 0, nonce: 0 } });
  const other = { ...TOY, name: "com.example.toy.1", key: Buffer.alloc(32) };
  assert.equal(decodeText(other, text, 1e-4).detected, false);
  assert.equal(decodeText(TOY, "", 1e-4).detected, false);
});

test("10: a text is bounded by its characters, not by its UTF-16 units", () => {
  const beside = (faces) => () => decodeText(TOY, `${"\u{1f600}".repeat(faces)}\ud800`, 0.1);
  assert.throws(beside(2 ** 20 - 1), { status: "not-text" });
  assert.throws(beside(2 ** 20), { status: "input-too-large" });
});
