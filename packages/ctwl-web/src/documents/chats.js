/**
 * JSON of chat programs and their logs: messages of a conversation, pieces of a streamed answer, cells of a notebook.
 * Where a conversation says which messages a model wrote, these are read alone; of a notebook the prose, where it has any.
 */

const WRITERS = new Set("assistant model ai bot gpt chatgpt claude gemini copilot llm".split(" "));
const WHO = ["role", "from", "sender", "author", "user", "username"];
const WHAT = ["content", "text", "value", "parts", "message", "body"];
/** What a program may have written before a record in its line, such as a date or `data:`, is no longer. */
const LONGEST_START = 80;
/** A value in a value, as deep as programs write words. */
const DEPTH = 20;

const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const first = (value) => (Array.isArray(value) && isRecord(value[0]) ? value[0] : {});
const joined = (texts) => texts.filter((text) => text !== "").join("\n\n");

/** The words in JSON, JSON lines, or lines of server-sent events; null where it is none that is known here. */
export function wordsOfChat(text) {
  const values = valuesIn(text);
  const cells = values.flatMap(cellsOf).map((cell) => [cell.cell_type, textOf(cell.source)]);
  const ofCells = (some) => joined(some.map(([, words]) => words));
  if (cells.length > 0) return ofCells(cells.filter(([kind]) => kind !== "code")) || ofCells(cells);
  const records = (values.length === 1 && Array.isArray(values[0]) ? values[0] : values).filter(isRecord);
  const pieces = records.map((value) => [value.id, pieceOf(value)]);
  if (pieces.some(([, piece]) => piece !== "")) return streamed(pieces);
  const messages = messagesIn(values);
  const written = messages.filter(([who]) => WRITERS.has(who.toLowerCase()));
  return joined((written.length > 0 ? written : messages).map(([, words]) => words)) || null;
}

/** The whole text as a value, or the value in each line. */
function valuesIn(text) {
  const whole = valueOf(text);
  if (whole !== undefined) return [whole];
  const records = text.split("\n").map((line) => [line.indexOf("{"), line]).filter(([at]) => at >= 0 && at <= LONGEST_START);
  return records.map(([at, line]) => valueOf(line.slice(at))).filter((value) => value !== undefined);
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
  if ("done" in value) return textOf(isRecord(value.message) ? value.message.content : value.response);
  return textOf(first(value.candidates).content);
}

/** The messages: who wrote each, and its words. */
function messagesIn(values) {
  const found = [];
  const waiting = values.toReversed();
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (isRecord(value)) {
      const who = whoOf(value);
      const words = WHAT.map((key) => textOf(value[key])).find((text) => text !== "");
      if (who && words) found.push([who, words]);
      else for (const each of Object.values(value).reverse()) waiting.push(each);
    } else if (Array.isArray(value)) for (let i = value.length - 1; i >= 0; i--) waiting.push(value[i]);
  }
  return found;
}

function whoOf(message) {
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
  if (!isRecord(value) || !["text", "output_text", "input_text"].includes(value.type ?? "text")) return "";
  return ["text", "parts", "value"].map((key) => textOf(value[key], depth + 1)).find((text) => text !== "") ?? "";
}
