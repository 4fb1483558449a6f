/**
 * JSON of chat programs and their logs: messages of a conversation, pieces of a streamed answer, cells of a notebook.
 * Where a conversation says which messages a model wrote, these are read alone; of a notebook the prose, where it has any,
 * and what its code printed.
 */

const WRITERS = new Set("assistant model ai bot gpt chatgpt claude gemini copilot llm".split(" "));
const WHO = ["role", "from", "sender", "author", "user", "username"];
const WHAT = ["content", "text", "value", "parts", "message", "body"];
const ASKED = ["prompt", "instruction", "question", "input", "query"];
const ANSWERED = ["completion", "response", "output", "answer", "generated_text", "assistant"];
/** In the names of parts of a message that are no words of it. */
const UNSAID = ["tool", "function", "thinking", "reasoning"];
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
  const cells = values.flatMap(cellsOf);
  if (cells.length > 0) return ofNotebook(cells);
  const records = (values.length === 1 && Array.isArray(values[0]) ? values[0] : values).filter(isRecord);
  const pieces = records.map((value) => [value.id, pieceOf(value)]);
  if (pieces.some(([, piece]) => piece !== "")) return streamed(pieces);
  const messages = messagesIn(values);
  const written = messages.filter(([who]) => WRITERS.has(who.toLowerCase()));
  const told = (written.length > 0 ? written : messages).map(([, words]) => words);
  return joined(told.length > 0 ? told : records.map(said)) || null;
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
  if (isRecord(value.token)) return textOf(value.token.text);
  if ("stop" in value) return textOf(value.content);
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
      const [who, words, answer] = [whoOf(value), said(value), answerOf(value)];
      if (who && words) found.push([who, words]);
      else if (answer) found.push(["assistant", answer]);
      else for (const each of Object.values(value).reverse()) waiting.push(each);
    } else if (Array.isArray(value)) for (let i = value.length - 1; i >= 0; i--) waiting.push(value[i]);
  }
  return found;
}

const said = (message) => WHAT.map((key) => textOf(message[key])).find((text) => text !== "") ?? "";

/** The answer of a question and its answer, as sets of instructions have them. */
function answerOf(pair) {
  if (!("generated_text" in pair) && !ASKED.some((key) => key in pair)) return "";
  return ANSWERED.map((key) => pair[key]).find((value) => typeof value === "string" && value !== "") ?? "";
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
  if (!isRecord(value) || UNSAID.some((name) => String(value.type ?? "").includes(name))) return "";
  return ["text", "parts", "value"].map((key) => textOf(value[key], depth + 1)).find((text) => text !== "") ?? "";
}
