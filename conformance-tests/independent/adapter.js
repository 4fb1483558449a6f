/**
 * An adapter that speaks `ctwl-adapter/2`: one JSON object a line, requests on standard input, replies on standard
 * output. Whatever comes in, an answer goes out: `ok`, `error` or `skip`.
 */
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import NUMBERS from "../../spec/numbers.json" with { type: "json" };
import { decodeText } from "./src/decode.js";
import { answer, FAMILIES } from "./src/families.js";
import { stringify } from "./src/json.js";
import { PUBLISHED, TOYS } from "./src/published.js";
import { Refusal } from "../../packages/ctwl-web/src/refusal.js";

const PROTOCOL = "ctwl-adapter/2";
/** The most bytes of a line, without its end. */
const MAX_LINE = 2 ** 24 - 1;

const OPERATIONS = {
  start({ protocol }) {
    if (protocol !== PROTOCOL) throw new Refusal("request-malformed", `this adapter speaks ${PROTOCOL}`);
    return {
      ok: {
        name: "ctwl-independent",
        version: "1.0.0-rc.1",
        roles: ["decoder", "registry-client"],
        profiles: TOYS,
        families: Object.keys(FAMILIES),
      },
    };
  },
  vector({ family, input }) {
    if (typeof family !== "string" || !Object.hasOwn(FAMILIES, family)) return { skip: `no family ${family} here` };
    return { ok: answer(family, input) };
  },
  decode({ profile, text, alpha }) {
    if (!TOYS.includes(profile)) return { skip: `no profile ${profile} here: it needs a language model` };
    if (typeof text !== "string") throw new Refusal("not-text", "text is a string");
    const { candidate, strongest, ...found } = decodeText(PUBLISHED.get(profile), text, alpha ?? NUMBERS.search.level.value);
    return { ok: found.detected ? found : { ...found, ...(candidate ?? { p_value: 1 }) } };
  },
  encode: () => ({ skip: "a reader: it does not write" }),
  stop: () => ({ ok: {} }),
};

/** The reply to one line. */
export function reply(line) {
  let id = null;
  try {
    const request = JSON.parse(line);
    if (request === null || typeof request !== "object") throw new Refusal("request-malformed", "not an object");
    id = request.id ?? null;
    if (typeof request.op !== "string" || !Object.hasOwn(OPERATIONS, request.op)) {
      throw new Refusal("request-malformed", "no such operation");
    }
    return { id, ...OPERATIONS[request.op](request), stop: request.op === "stop" };
  } catch (error) {
    const status = error instanceof Refusal ? error.status : "request-malformed";
    return { id, error: { status, message: String(error?.message ?? error) } };
  }
}

/** The lines of a stream of bytes; one that is too long is null, and none of it is kept. */
async function* lines(stream) {
  let [parts, size] = [[], 0];
  for await (const chunk of stream) {
    let from = 0;
    for (let end = chunk.indexOf(10, from); end >= 0; end = chunk.indexOf(10, from)) {
      size += end - from;
      parts.push(chunk.subarray(from, end));
      yield size > MAX_LINE ? null : Buffer.concat(parts).toString("utf8");
      [parts, size, from] = [[], 0, end + 1];
    }
    size += chunk.length - from;
    if (size > MAX_LINE) parts = [];
    else parts.push(chunk.subarray(from));
  }
  if (size > 0) yield size > MAX_LINE ? null : Buffer.concat(parts).toString("utf8");
}

async function main() {
  for await (const line of lines(process.stdin)) {
    if (line !== null && line.trim() === "") continue;
    const { stop, ...message } =
      line === null
        ? { id: null, error: { status: "input-too-large", message: `a line has at most ${MAX_LINE + 1} bytes` } }
        : reply(line);
    await new Promise((resolve) => process.stdout.write(`${stringify(message)}\n`, resolve));
    if (stop) process.exit(0);
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await main();
