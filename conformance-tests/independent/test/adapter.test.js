/** The adapter answers whatever comes in. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

const ADAPTER = fileURLToPath(new URL("../adapter.js", import.meta.url));

/** The replies to what is written on standard input, and the exit status. */
async function talk(...chunks) {
  const child = spawn(process.execPath, [ADAPTER], { stdio: ["pipe", "pipe", "inherit"] });
  const out = [];
  child.stdout.on("data", (bytes) => out.push(bytes));
  child.stdin.on("error", () => {}); // it may stop before all is written
  for (const chunk of chunks) child.stdin.write(chunk);
  child.stdin.end();
  const status = await new Promise((resolve) => child.on("close", resolve));
  const lines = Buffer.concat(out).toString("utf8").split("\n").slice(0, -1);
  return { status, replies: lines.map((line) => JSON.parse(line)) };
}

const line = (message) => `${JSON.stringify(message)}\n`;

test("it says what it is and what it knows, and stops", async () => {
  const { status, replies } = await talk(
    line({ id: 1, op: "start", protocol: "ctwl-adapter/2" }),
    line({ id: 2, op: "stop" }),
    line({ id: 3, op: "start", protocol: "ctwl-adapter/2" }),
  );
  assert.equal(status, 0);
  assert.deepEqual(replies.map(({ id }) => id), [1, 2]);
  const { roles, profiles, families } = replies[0].ok;
  assert.deepEqual(roles, ["decoder", "registry-client"]);
  assert.deepEqual(profiles, ["org.ctwl.toy.1", "org.ctwl.toy.2"]);
  assert.ok(families.includes("canonical"));
});

test("refusals are answers, unknown families are skips, malformed requests are errors", async () => {
  const offered = { trusted: { root: "", registry: null, latest: 0 }, roots: [], registry: null, clock: 0 };
  const { status, replies } = await talk(
    line({ id: 1, op: "vector", family: "canonical", input: { bytes: "c0c0" } }),
    line({ id: 2, op: "vector", family: "toString", input: {} }),
    line({ id: 3, op: "vector", family: "canonical", input: null }),
    line({ id: 4, op: "decode", profile: "org.ctwl.gpt2.1", text: "", alpha: 0.1 }),
    line({ id: 5, op: "decode", profile: "org.ctwl.toy.1", text: 5, alpha: 0.1 }),
    line({ id: 6, op: "constructor" }),
    line({ id: 7, op: "vector", family: "registry-update", input: offered }),
    line([]),
    "no JSON\n",
    Buffer.from([0xff, 0x0a]),
  );
  assert.equal(status, 0);
  assert.equal(replies.length, 10);
  assert.deepEqual(replies[0], { id: 1, ok: { status: "non-canonical" } });
  assert.ok(replies[1].skip);
  assert.ok(replies[2].error);
  assert.ok(replies[3].skip);
  assert.equal(replies[4].error.status, "not-text");
  assert.ok(replies[5].error);
  assert.deepEqual(replies[6], { id: 7, ok: { status: "registry-state-malformed" } });
  assert.ok(replies.slice(7).every(({ id, error }) => id === null && error.status === "request-malformed"));
});

test("a text that shows nothing has a best candidate; one without positions has none", async () => {
  const decode = (text) => line({ id: 1, op: "decode", profile: "org.ctwl.toy.1", text, alpha: 0.0001 });
  const { replies } = await talk(decode("Nothing is marked here."), decode("abc"));
  const [{ ok: some }, { ok: none }] = replies;
  assert.ok(!some.detected && Number.isInteger(some.code) && some.p_value > 0.0001);
  assert.deepEqual(none, { detected: false, code: null, p_value: 1, spans: [], record: null });
});

test("it states the toy proxy's weights", async () => {
  const file = new URL("../../vectors/v1/numeric/org.ctwl.toy.1.json", import.meta.url);
  const { tests } = JSON.parse(readFileSync(file, "utf8"));
  const weigh = (fields) => line({ id: 1, op: "vector", family: "numeric", input: { ...tests[0].input, ...fields } });
  const few = { ids: [84, 104, 101, 32, 97], places: [4], tokens: [[97]] };
  const { replies } = await talk(
    weigh({}),
    weigh({ profile: "org.ctwl.gpt2.1" }),
    weigh({ ...few, places: [3] }),
    weigh({ ...few, places: [5] }),
    weigh({ ...few, tokens: [[256]] }),
    weigh({ ...few, places: Array(257).fill(4), tokens: [] }),
  );
  assert.deepEqual(replies[0].ok, tests[0].expected);
  const codes = replies.slice(1).map(({ ok, error }) => (ok ?? error).status);
  const places = "request-malformed";
  assert.deepEqual(codes, ["profile-unknown", places, places, "token-out-of-range", places]);
});

test("a line that is too long is refused, and the next one answered", async () => {
  const { replies } = await talk(Buffer.alloc(2 ** 24, "a"), "\n", line({ id: 1, op: "stop" }));
  assert.deepEqual(replies.map(({ error }) => error?.status), ["input-too-large", undefined]);
});

test("work is bounded before it is done", async () => {
  const { replies } = await talk(
    `${"[".repeat(100_000)}\n`,
    line({ id: 2, op: "vector", family: "canonical", input: { bytes: [{ repeat: "00", times: 1e15 }] } }),
    line({ id: 3, op: "vector", family: "canonical", input: { bytes: "91".repeat(60_000) } }),
    line({ id: 4, op: "vector", family: "windows", input: { positions: 1e15, codes: 1 } }),
    line({ id: 5, op: "vector", family: "positions", input: { tokens: [1], prefix_length: -1e9, context_length: 1 } }),
    line({ id: 6, op: "decode", profile: "org.ctwl.toy.1", text: "a".repeat(2 ** 21), alpha: 0.1 }),
  );
  assert.ok(replies[0].error);
  assert.ok(replies[1].error);
  assert.deepEqual(replies[2].ok, { status: "non-canonical" });
  assert.ok(replies[3].error);
  assert.ok(replies[4].error);
  assert.equal(replies[5].error.status, "input-too-large");
});
