/** What the specification says in numbers, and what an outsider would try first. */
import assert from "node:assert/strict";
import { createHmac, hkdfSync } from "node:crypto";
import { test } from "node:test";
import { hex, hkdf, utf8 } from "../../../packages/ctwl-web/src/bytes.js";
import { decode, encode } from "../../../packages/ctwl-web/src/canonical.js";
import { decodeText } from "../src/decode.js";
import { isSuitable } from "../../../packages/ctwl-web/src/ed25519.js";
import { counted } from "../src/evidence.js";
import { interleavedSlot } from "../../../packages/ctwl-web/src/framing.js";
import { layoutOf, recordCodes, recordFields } from "../../../packages/ctwl-web/src/layouts.js";
import { normalize } from "../../../packages/ctwl-web/src/normalization.js";
import { tail } from "../../../packages/ctwl-web/src/null.js";
import { toyWeights } from "../src/partition.js";
import { commitment, personalProfile } from "../src/private.js";
import { digest, profileFromBytes, publicKey } from "../../../packages/ctwl-web/src/profile.js";
import { PUBLISHED } from "../src/published.js";
import { openSecret } from "../src/secrets.js";
import { allScores, bestBeacons, score, windowBests } from "../src/search.js";
import { charactersOf, growing, joined } from "../src/spans.js";
import { TEST_KEYS } from "../../../packages/ctwl-web/src/root.js";
import { SPLITTING } from "../../../packages/ctwl-web/src/numbers.js";
import { split } from "../../../packages/ctwl-web/src/tokenizer.js";
import { tokenizerOf } from "../src/toy.js";
import { windows } from "../../../packages/ctwl-web/src/windows.js";

const TOY = PUBLISHED.get("org.ctwl.toy.1");
const refused = (status) => (error) => error.status === status;

test("4.1: values come back, other forms do not", () => {
  const values = [null, true, -33, 2n ** 64n - 1n, -(2n ** 63n), "\ufeffé", Buffer.alloc(300), [[]], { b: 1, a: [2] }];
  for (const value of values) assert.deepEqual(encode(decode(encode(value))), encode(value));
  for (const bytes of ["", "c1", "cc05", "81a16101c0", "82a16101a16102", "a1ff", "91".repeat(9)]) {
    assert.throws(() => decode(Buffer.from(bytes, "hex")), refused("non-canonical"));
  }
  assert.throws(() => encode("\ud800"), refused("non-canonical"));
});

test("4.4: the digests of the published profiles", () => {
  assert.equal(hex(digest(TOY)), "1332c0bbd9b0a8433353722979b0fd2a8d6ffeb2906c18d8280a9d7f40aa5cf4");
  for (const [name, profile] of PUBLISHED) assert.deepEqual(publicKey(name), profile.key);
});

test("4.5, 4.6: the example of a user's profile and its commitment", () => {
  const key = Buffer.from(Array.from({ length: 32 }, (_, i) => i));
  const own = { ...PUBLISHED.get("org.ctwl.smollm2-135m.1"), name: "com.example.mark.1", key };
  const user = personalProfile(own, "ann@example.com");
  assert.equal(user.name, "com.example.mark.user-717c0cf7c63a37d7eb0fbc861640d89d.1");
  assert.equal(hex(user.key), "793add0fb6a4dd7e9b7add815476032d96eb78bcca3d1e9a19dd383d8d3c5841");
  assert.equal(hex(commitment(own)), "7b4a3646ac691632c2573b0c018ccbc4197405f30135b978cfcf0ffb19109ea7");
  assert.equal(hex(commitment(user)), "011f1a8d8ddce06627e946fd885c7b2f6b157e09228aed4415c627c279cbc906");
  assert.throws(() => commitment(TOY), refused("profile-not-private"));
  assert.throws(() => profileFromBytes(encode({ ...TOY, colours: 33 })), refused("profile-malformed"));
});

test("HKDF is node's, as far as node's goes", () => {
  const info = Buffer.from("info");
  const known = new Uint8Array(hkdfSync("sha256", "k", "s", info, 50));
  assert.deepEqual(hkdf(utf8("k"), utf8("s"), info, 50), known);
  assert.equal(hkdf(Buffer.from("k"), Buffer.alloc(0), Buffer.alloc(2000), 32).length, 32);
});

test("5.1: normalization is idempotent", () => {
  for (const text of ["e\u200b\u0301 ", "\u2028a\r\n\u00ad\u0301", "\u180e\u3000x\u2026\u0085", "\u1100\u2060\u1161"]) {
    assert.equal(normalize(normalize(text)), normalize(text));
  }
});

test("5.2: pieces joined are the text; the toy's tokens are its bytes", () => {
  const text = "It's 12 o'clock,\n\n é  \u001c x";
  for (const rule of Object.keys(SPLITTING.rules)) assert.equal(split(text, rule).join(""), text);
  assert.deepEqual(tokenizerOf(TOY).encode(text), [...Buffer.from(text)]);
});

test("7.3: the example", () => {
  const weights = toyWeights([84, 104, 101, 32], 256);
  assert.deepEqual([97, 98, 99].map((v) => weights[v]), [190650, 524288, 71089]);
});

test("9.2, 9.4: codes give their fields back; slot 0 of n codes lies within slot 0 of fewer", () => {
  const fields = { provider: 42, version: 3, nonce: 17, sealed_user: 2 ** 40 - 99, authenticator: 5 };
  const codes = recordCodes(layoutOf(4), fields);
  assert.deepEqual(recordFields(layoutOf(4), codes), fields);
  const { authenticator: _, ...readable } = fields;
  assert.deepEqual(recordFields(layoutOf(4), [...codes.slice(0, 3), null]), readable);
  for (let u = 0; u < 2 ** 32; u += 2 ** 24 - 3) {
    const slots = [2, 3, 4].map((n) => interleavedSlot(u, n));
    for (let i = 1; i < 3; i++) assert.ok(slots[i] !== 0 || slots[i - 1] === 0);
  }
});

test("9.6: which keys may be enrolled", () => {
  assert.ok(TEST_KEYS.every(isSuitable));
  const identity = Buffer.alloc(32);
  identity[0] = 1;
  assert.ok(!isSuitable(identity));
  assert.ok(!isSuitable(Buffer.alloc(32, 0xff)));
});

test("9.7: what is no file of a secret is refused before the passphrase is stretched", () => {
  assert.throws(() => openSecret(Buffer.from([0x80]), "x", "ctwl-profile/1"), refused("key-file-malformed"));
});

test("10, step 5: of a pair that comes back one counts", () => {
  const one = (slots, token = 1) => ({ context: [7], token, slots });
  assert.deepEqual(counted([one([0, 1, 1, 1]), one([0, 0, 1, 1]), one([0, 0, 1, 1]), one([0, 1, 1, 1], 2)]), [1, 3]);
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
  const every = (some) => Int32Array.from({ length: 2 ** bits }, (_, code) => score(some, code, colours));
  assert.deepEqual(allScores(rows, bits), every(rows));
  const lists = bestBeacons(rows, bits);
  [1, 2, 3, 4].forEach((n, i) => {
    const scores = every(rows.filter(({ zeros }) => n <= zeros));
    assert.deepEqual(lists[i][0], { code: scores.indexOf(Math.max(...scores)), score: Math.max(...scores) });
    assert.ok(lists[i].every(({ code, score: found }) => scores[code] === found));
  });
  const bests = windowBests(rows, [[[8, 32]], [[0, 16], [8, 40]], [], []], bits, colours);
  const inside = (n, from, behind) => rows.slice(from, behind).filter(({ zeros }) => n <= zeros);
  [[0, 0, inside(1, 8, 32)], [1, 0, inside(2, 0, 16)], [1, 1, inside(2, 8, 40)]].forEach(([i, w, some]) => {
    const scores = every(some);
    assert.deepEqual(bests[i][w], { code: scores.indexOf(Math.max(...scores)), score: Math.max(...scores) });
  });
  const few = [3, 500, 1023];
  assert.ok(bestBeacons(rows, bits, few)[0].every(({ code }) => few.includes(code)));
});

test("10.2: windows fit", () => {
  for (const n of [1, 2, 3, 4]) {
    for (const [from, behind] of windows(1000, n)) assert.ok(from >= 0 && behind <= 1000 && behind - from >= 96 * n);
  }
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

test("12: the null of a few coins", () => {
  const coins = Array.from({ length: 10 }, () => [0, 1]);
  assert.ok(Math.abs(tail(coins, 8) - 56 / 1024) < 1e-15);
  assert.equal(tail([], 1), 0);
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
