/** What a user of the package sees first, and what an attacker tries. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Names, Refusal } from "../src/index.js";
import { SOURCE } from "../src/compiled.js";
import { sha256, sha512 } from "../src/digests.js";
import { hex } from "../src/bytes.js";
import { MAX_CODES } from "../src/framing.js";
import { colour, G } from "../src/hashing.js";
import { approximateLogTail, SLACK, steps, tail } from "../src/null.js";
import { scoreOf } from "../src/scored.js";
import { joined, runJob, scoreJob } from "../src/search.js";
import { variantsOf } from "../src/variants.js";
import { envelopes, text, toyReader, vectors } from "./folder.js";

const refused = (status) => (error) => error instanceof Refusal && error.status === status;

test("what cannot be read is refused with its code", async () => {
  const reader = toyReader();
  await assert.rejects(reader.read("a\ud800b"), refused("not-text"));
  await assert.rejects(reader.read(5), refused("not-text"));
  await assert.rejects(reader.read(`a${"\u0316".repeat(300)}`), refused("not-text"));
  await assert.rejects(reader.read("a".repeat(2 ** 20 + 1)), refused("input-too-large"));
  assert.equal((await reader.read(`One (data:;base64,${"Ab3/".repeat(2 ** 18)}) two`)).outcome, "too-short");
  await assert.rejects(reader.read("a".repeat(2 ** 18)), refused("input-too-large"));
  await assert.rejects(reader.read("a", { alpha: 0 }), refused("option-out-of-range"));
});

test("a registry of another hand is refused", () => {
  const [root, registry] = envelopes();
  assert.equal(Names.verified(root, registry).hop({ provider: 42, version: 3, nonce: 0 }).name, "Example Forty-Two");
  for (const at of [20, 200, registry.length - 1]) {
    const altered = Uint8Array.from(registry);
    altered[at] ^= 1;
    assert.throws(() => Names.verified(root, altered), Refusal);
  }
});

test("a signpost is that of each provider once, and nowhere for a revoked code", () => {
  const detector = { scheme: "Own", url: "https://provider.example/detect" };
  const owner = (code, more) => ({ kind: "provider", code, name: `Provider ${code}`, state: "active", models: [], ...more });
  const entries = [owner(1, { detector }), owner(2, { detector, state: "revoked" }), owner(3), owner(4, { detector, state: "retired" })];
  const names = new Names({}, { entries });
  const beacons = [3, 1, 4, 1, 2, 5].map((provider) => ({ provider, version: 0, nonce: 0 }));
  assert.deepEqual(
    names.signposts(beacons),
    [1, 4].map((provider) => ({ provider, name: `Provider ${provider}`, ...detector })),
  );
});

test("the page says ask there where there is a signpost", async () => {
  const { verdict } = await import("../page/verdict.js");
  const words = JSON.parse(readFileSync(new URL("../page/words.en.json", import.meta.url)));
  const say = (name, values = {}) => words[name].replace(/\{(\w+)\}/g, (_, key) => String(values[key]));
  const record = { chain: [{ provider: 1, name: "One", model: null, state: "active" }] };
  const report = { outcome: "found", spans: [{ tokens: 9, record, code: 1024 }], tokens: 9, p_value: 1e-9, signposts: [] };
  const means = `${words.forgeable} ${words["nothing-else"]}`;
  assert.equal(verdict(report, say, "en").means, means);
  const signposts = [{ provider: 1, name: "One", scheme: "Own", url: "https://one.example/detect" }];
  assert.equal(
    verdict({ ...report, signposts }, say, "en").means,
    `${means} Ask there: the detector of One for Own is at https://one.example/detect. This is only an address; it proves nothing.`,
  );
});

test("long tokens and many marks take no quadratic time", { timeout: 600_000 }, () => {
  assert.equal(toyReader().tokenizer.encode("ab".repeat(2 ** 17)).length, 2 ** 18);
  for (const bad of ["<!--", "<script", "&", "*", "[x](", "\r\u00ad", "  ", "_", ">", "a\n", "[[a|", "{{a", "~a", "\\textbf{", "\x1b]", "a b\nc d\n\n"]) variantsOf(bad.repeat(2 ** 17));
});

test("digests are Node's", () => {
  for (const length of [0, 1, 55, 56, 64, 111, 112, 128, 1000]) {
    const message = Uint8Array.from({ length }, (_, i) => (i * 151) & 255);
    assert.equal(hex(sha256(message)), createHash("sha256").update(message).digest("hex"));
    assert.equal(hex(sha512(message.subarray(0, 7), message.subarray(7))), createHash("sha512").update(message).digest("hex"));
  }
});

/** Numbers that look random, the same everywhere. */
function* numbers(state = 1) {
  for (;;) yield (state = Math.imul(state, 0x9e3779b1) + 12345) >>> 8;
}

test("the approximation of a tail is as near as it says", () => {
  for (const { id, input } of vectors("null")) {
    const exact = tail(input.units, input.score);
    if (exact === 0) continue;
    const about = approximateLogTail(steps(input.units), input.score);
    assert.ok(Math.abs(about - Math.log(exact)) < SLACK, `${id}: ${about}, ${Math.log(exact)}`);
  }
});

test("the compiled module is what its source says, and that has the numbers of the other modules", () => {
  const source = text("packages/ctwl-web/compiled/search.c");
  assert.equal(SOURCE, createHash("sha256").update(source).digest("hex"));
  const defined = (name) => Number(new RegExp(`^#define ${name} (\\w+)$`, "m").exec(source)[1]);
  assert.deepEqual([defined("NUMBERS"), defined("G")], [MAX_CODES, G]);
});

const parts = [[0, 300], [300, 301], [301, 1024]];

test("all codes have their scores, however codes are divided", () => {
  const next = numbers(3);
  for (const [count, width] of [[0, 33], [1, 2], [7, 100], [40, 4096]]) {
    const seeds = Int32Array.from({ length: count }, () => (next.next().value << 8) ^ next.next().value);
    const rows = Array.from({ length: count }, () => Int32Array.from({ length: width }, () => (next.next().value % 19) - 13));
    for (const codes of [null, Uint32Array.from({ length: 1024 }, (_, i) => 1023 * i)]) {
      const job = scoreJob({ seeds, rows }, codes, 10);
      const expected = Int32Array.from({ length: 1024 }, (_, i) => scoreOf({ seeds, rows }, codes ? codes[i] : i));
      assert.deepEqual(runJob(job), expected);
      assert.deepEqual(joined(job, parts.map(([from, behind]) => runJob(job, from, behind))), expected);
    }
  }
});

test("windows have the best codes of the scores of all codes, however codes are divided", () => {
  const next = numbers(7);
  const [count, width, pieces, bits] = [40, 33, 5, 10];
  const seeds = Int32Array.from({ length: count }, () => (next.next().value << 8) ^ next.next().value);
  const units = Int32Array.from({ length: 2 * count * width }, () => (next.next().value % 19) - 13);
  const cells = Int32Array.from({ length: count }, () => next.next().value % (4 * pieces)).sort();
  const windows = [[1, 0, 5], [1, 1, 3], [2, 0, 5], [3, 2, 4], [4, 0, 5]];
  for (const codes of [null, Uint32Array.from({ length: 1024 }, (_, i) => 1023 * i)]) {
    const job = {
      seeds, rows: Int32Array.from(Array.from(cells).flatMap((cell, i) => [cell, i])), units, width, pieces, codes,
      keeps: new Uint8Array(pieces + 1).fill(15), number: 2 ** bits,
      windows: Int32Array.from(windows.flatMap(([n, from, behind]) => [n - 1, from, behind])),
    };
    const answers = [runJob(job), joined(job, parts.map(([from, behind]) => runJob(job, from, behind)))];
    windows.forEach(([n, from, behind], w) => {
      const own = Array.from({ length: count }, (_, r) => r).filter((r) => {
        const [piece, kind] = [cells[r] >> 2, cells[r] & 3];
        return piece >= from && piece < behind && kind >= n - 1;
      });
      for (const s of [0, 1]) {
        let [best, most] = [0, -Infinity];
        for (let i = 0; i < 2 ** bits; i++) {
          const code = codes ? codes[i] : i;
          const sum = own.reduce((a, r) => a + units[2 * (r * width + colour(seeds[r], code, width)) + s], 0);
          if (sum > most) [best, most] = [code, sum];
        }
        for (const answer of answers) assert.deepEqual([answer[s].codes[w], answer[s].scores[w]], [best, most]);
      }
    });
  }
});
