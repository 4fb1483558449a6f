/**
 * JSON of chat programs and their logs: messages of a conversation, pieces of a streamed answer, cells of a notebook.
 * Where a conversation says which messages a model wrote, these are read alone, with what the model gave to tools. Where
 * it has messages of people alone, it is refused, since the model's may stand where nobody looks. Of a notebook the prose
 * is read, where it has any, and what its code printed.
 */
import { DocumentRefused, sound } from "./refused.js";

const WRITERS = new Set("assistant model ai bot gpt chatgpt claude gemini copilot llm".split(" "));
const PEOPLE = new Set("user human system developer tool function prompter customer".split(" "));
const WHO = ["role", "from", "sender", "author", "user", "username"];
/** Names of what is true of the messages of people, and false of those of a model. */
const BY_PEOPLE = ["isCreatedByUser", "is_user", "isUser", "fromUser", "isHuman"];
const WHAT = ["content", "text", "value", "parts", "message", "body", "mes"];
const ASKED = ["request", "prompt", "instruction", "question", "input", "inputs", "query", "messages", "message"];
const ANSWERED = ["completion", "response", "responses", "output", "outputs", "answer", "generated_text", "assistant", "reply"];
/** Where a message has calls of tools beside its words, and in a call what the model gives to the tool. */
const [CALLS, GIVEN] = [["tool_calls", "function_call"], ["input", "arguments", "args"]];
/** Words of a string that is given to a tool: fewer are its name, its title, a path. */
const FEW = 8;
/** In the names of parts of a message that are no words of it. */
const UNSAID = ["tool", "function", "thinking", "reasoning"];
/** Begins JSON, or a stream of it, in a string. */
const PACKED = /^\s*(?:[{[]|(?:data|event): ?)/;
/** A line of a stream that has no record. */
const FIELD = /^(?:event|id|retry)?:.*/gm;
/** A part of a stream that has a letter or a number for its kind, as Vercel's programs send it. */
const PART = /^([0-9a-z]):(["{[].*)$/gm;
/** The kind of a part that the model thought, and did not say. */
const THOUGHT = "g";
/** Pieces of a stream of an unknown program; one in so many of a text begins or ends at the end of a word. */
const [LEAST, SHARE] = [3, 5];
/** Characters of a piece in a script without spaces. */
const SHORT = 12;
/** What a program may have written before a record in its line, such as a date or `data:`, is no longer. */
const LONGEST_START = 80;
/** A value in a value, as deep as programs write words. */
const DEPTH = 20;

const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const first = (value) => (Array.isArray(value) && isRecord(value[0]) ? value[0] : {});
const joined = (texts) => texts.filter((text) => text !== "").join("\n\n");

/**
 * The words in JSON, JSON lines, or lines of server-sent events; null where it is none that is known here. Refused as
 * `document-refused` where it has messages of people, and none of a model.
 */
export function wordsOfChat(text) {
  const values = valuesIn(text);
  const cells = values.flatMap(cellsOf);
  if (cells.length > 0) return ofNotebook(cells);
  const records = (values.length === 1 && Array.isArray(values[0]) ? values[0] : values).filter(isRecord);
  const pieces = records.map((value) => [value.id, pieceOf(value)]);
  if (pieces.some(([, piece]) => piece !== "")) return streamed(pieces);
  const told = varied(records) || joined(ofModels(messagesIn(values)));
  return told || joined(records.map(said)) || null;
}

const isModel = (who) => WRITERS.has(who.toLowerCase());
const isPerson = (who) => PEOPLE.has(who.toLowerCase());

/** The messages that models wrote; all where nothing says who of the writers is one. */
function ofModels(messages) {
  const written = messages.filter(([who]) => isModel(who));
  const others = messages.filter(([who]) => !isPerson(who));
  sound(messages.length === 0 || others.length > 0, "people", "it has messages of people, and none of a model");
  return (written.length > 0 ? written : others).map(([, words]) => words);
}

/** The prose, else the code; and what the code printed. */
function ofNotebook(cells) {
  const full = (texts) => texts.filter((text) => text.trim() !== "");
  const sources = (some) => full(some.map((cell) => textOf(cell.source)));
  const prose = sources(cells.filter((cell) => cell.cell_type !== "code"));
  const outputs = cells.flatMap((cell) => (Array.isArray(cell.outputs) ? cell.outputs.filter(isRecord) : []));
  const printed = full(outputs.map(({ text, data }) => textOf(text || (isRecord(data) ? data["text/plain"] : ""))));
  return joined([...(prose.length > 0 ? prose : sources(cells)), ...printed]);
}

/** The whole text as a value, or the value in each line; none where lines without one hold most of the text. */
function valuesIn(text) {
  const whole = valueOf(text);
  if (whole !== undefined) return [whole];
  const parts = Array.from(text.matchAll(PART), ([line, kind, written]) => [line, valueOf(written), kind === THOUGHT ? "reasoning" : kind]);
  const lines = text.split("\n").map((line) => [line, line.indexOf("{")]).filter(([, at]) => at >= 0 && at <= LONGEST_START);
  const all = parts.length > 0 ? parts : lines.map(([line, at]) => [line, valueOf(line.slice(at))]);
  const found = all.filter(([, value]) => value !== undefined);
  const size = [...text.matchAll(FIELD), ...found].reduce((sum, [line]) => sum + line.length, 0);
  return 2 * size < text.trim().length ? [] : found.map(([, value, kind]) => (kind ? { [kind]: value } : value));
}

function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The answers whose pieces these are; an answer has an id where its program gives it one. */
function streamed(pieces) {
  let [found, last] = ["", null];
  for (const [answer = null, piece] of pieces) {
    if (found !== "" && answer !== null && last !== null && answer !== last) found += "\n\n";
    last = answer ?? last;
    found += piece;
  }
  return found;
}

/** The piece of an answer that a record carries, as the common servers write it. */
function pieceOf(value) {
  const choice = first(value.choices);
  const delta = choice.delta ?? value.delta;
  if (typeof delta === "string") return String(value.type ?? "text").includes("text") ? delta : "";
  if (isRecord(delta)) return textOf(delta.content ?? delta.text);
  if (Object.keys(choice).length > 0 && !("message" in choice)) return textOf(choice.text);
  if (isRecord(value.token)) return textOf(value.token.text);
  if ("stop" in value) return textOf(value.content);
  if ("done" in value) return textOf(isRecord(value.message) ? value.message.content : value.response);
  return textOf(first(value.candidates).content);
}

/** The pieces of a stream of an unknown program: of the strings at the same place those that make a text. */
function varied(records) {
  if (records.some((record) => whoOf(record) && said(record))) return "";
  const places = new Map();
  for (const record of records) {
    for (const [place, text] of stringsIn(record)) places.has(place) ? places.get(place).push(text) : places.set(place, [text]);
  }
  let [found, most] = [[], 0];
  for (const texts of places.values()) {
    const count = texts.filter(isPiece).length;
    if (count > most) [found, most] = [texts, count];
  }
  return found.length >= LEAST && SHARE * most >= found.length ? found.join("") : "";
}

/** Whether a string goes on in another: it begins or ends at the end of a word, or has a script without spaces. */
const isPiece = (text) => /^ | $/.test(text) || (Array.from(text.slice(0, 2 * SHORT + 1)).length <= SHORT && /[\u2e80-\u{10ffff}]/u.test(text));

/** The strings in a record and their places. */
function stringsIn(record) {
  const found = [];
  const waiting = [["", record]];
  while (waiting.length > 0) {
    const [place, value] = waiting.pop();
    if (typeof value === "string") found.push([place, value]);
    else if (Array.isArray(value)) for (let i = value.length - 1; i >= 0; i--) waiting.push([place, value[i]]);
    else if (isRecord(value) && !isUnsaid(value)) {
      const inner = Object.entries(value).filter(([key]) => !UNSAID.some((name) => key.includes(name)));
      for (const [key, each] of inner.reverse()) waiting.push([JSON.stringify([place, key]), each]);
    }
  }
  return found;
}

/** The messages: who wrote each, and its words. Whoever wrote a message wrote what is in it, unless it says else. */
function messagesIn(values) {
  const found = [];
  const waiting = values.toReversed().map((value) => ["", value]);
  while (waiting.length > 0) {
    const [above, value] = waiting.pop();
    if (Array.isArray(value)) for (let i = value.length - 1; i >= 0; i--) waiting.push([above, value[i]]);
    if (!isRecord(value)) continue;
    const who = whoOf(value) || above;
    const words = joined([unpacked(said(value), who), ...givenIn(value, who)]);
    const inner = [];
    if (who && words) {
      found.push([who, words]);
      for (const [key, each] of Object.entries(value)) if (!WHAT.includes(key)) inner.push(["", each]);
    } else if (!isUnsaid(value)) {
      for (const [key, each] of Object.entries(value)) {
        const by = partOf(value, key);
        const own = by && unpacked(alone(each), by);
        if (own) found.push([by, own]);
        else inner.push([by || who, each]);
      }
    }
    for (const each of inner.reverse()) waiting.push(each);
  }
  return found;
}

const said = (message) => WHAT.map((key) => textOf(message[key])).find((text) => text !== "") ?? "";

/** Who wrote what a record of a question and its answer has by a name. */
function partOf(pair, key) {
  const [asked, answered] = [ASKED, ANSWERED].map((names) => names.some((name) => Object.hasOwn(pair, name)));
  if (!(asked && answered) && !Object.hasOwn(pair, "generated_text")) return "";
  return ANSWERED.includes(key) ? "assistant" : ASKED.includes(key) ? "user" : "";
}

/** The words of a value in which no other says who wrote it. */
function alone(value) {
  const parts = Array.isArray(value) ? value : [value];
  return parts.some((part) => isRecord(part) && whoOf(part)) ? "" : textOf(value);
}

/** The words in JSON that is kept as a string, where it may be a model's; else the string. */
function unpacked(words, who) {
  if (isPerson(who) || !PACKED.test(words)) return words;
  try {
    return wordsOfChat(words) || words;
  } catch (error) {
    if (error instanceof DocumentRefused) return words;
    throw error;
  }
}

/** The texts that a model gives to tools in a message, or in a part of one. */
function givenIn(message, who) {
  const found = [];
  const kept = isUnsaid(message) ? message : Object.fromEntries([...WHAT, ...CALLS].map((key) => [key, message[key]]));
  const waiting = isModel(who) ? [[false, kept]] : [];
  while (waiting.length > 0) {
    const [toTool, given] = waiting.pop();
    const value = toTool && typeof given === "string" && given.startsWith("{") ? (valueOf(given) ?? given) : given;
    if (typeof value === "string" && toTool && value.split(/\s+/).filter((word) => word !== "").length >= FEW) found.push(value);
    else if (Array.isArray(value)) for (let i = value.length - 1; i >= 0; i--) waiting.push([toTool, value[i]]);
    else if (isRecord(value)) for (const [key, each] of Object.entries(value).reverse()) waiting.push([toTool || GIVEN.includes(key), each]);
  }
  return found;
}

function whoOf(message) {
  const told = BY_PEOPLE.map((key) => message[key]).find((value) => typeof value === "boolean");
  if (told !== undefined) return told ? "user" : "assistant";
  for (const key of WHO) {
    const value = message[key];
    const who = isRecord(value) ? (value.role ?? value.name) : value;
    if (typeof who === "string" && who !== "") return who;
  }
  return "";
}

/** The cells of a notebook, in either of its forms. */
function cellsOf(value) {
  if (!isRecord(value) || !("nbformat" in value)) return [];
  const sheets = Array.isArray(value.worksheets) ? value.worksheets : [value];
  return sheets.flatMap((sheet) => (Array.isArray(sheet?.cells) ? sheet.cells.filter(isRecord) : []));
}

/** The words of a value: a string, parts of one, or what holds them. */
function textOf(value, depth = 0) {
  if (typeof value === "string") return value;
  if (depth > DEPTH) return "";
  if (Array.isArray(value)) return value.map((part) => textOf(part, depth + 1)).join("");
  if (!isRecord(value) || isUnsaid(value)) return "";
  return ["text", "parts", "value"].map((key) => textOf(value[key], depth + 1)).find((text) => text !== "") ?? "";
}

/** Whether a part of a message is no words of it. */
function isUnsaid(value) {
  return UNSAID.some((name) => [value.type, value.kind].some((kind) => String(kind ?? "").includes(name)));
}
