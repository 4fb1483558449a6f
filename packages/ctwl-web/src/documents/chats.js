/**
 * JSON of chat programs and their logs: messages of a conversation, pieces of a streamed answer, cells of a notebook.
 * Where a conversation says which messages a model wrote, these are read alone, with what the model gave to tools. Where
 * it has messages of people alone, it is refused, since the model's may stand where nobody looks. Long texts beside the
 * messages or between the lines, which nobody is said to have written, are named. Of a notebook the prose is read, where
 * it has any, and what its code printed.
 */
import { wordsApart } from "../characters.js";
import { wordsOf } from "./html.js";
import { LONG, SENTENCE, others, prose, sizeOf, uncoded } from "./prose.js";
import { DocumentRefused, sound } from "./refused.js";

const WRITERS = new Set("assistant model ai bot gpt chatgpt claude gemini copilot llm llama mistral qwen deepseek grok".split(" "));
const PEOPLE = new Set("user human system developer tool function prompter customer".split(" "));
const WHO = ["role", "from", "sender", "author", "user", "username", "src", "sender_name", "speaker"];
/** Names of what tells a writer only where it is one of these words, or one for a model. */
const KIND = ["type", "source", "origin", "event", "sender_type"];
const KINDS = new Map(Object.entries({ user: "user", human: "user", request: "user", response: "assistant" }));
/** Names of what is true of the messages of people, and false of those of a model. */
const BY_PEOPLE = ["isCreatedByUser", "is_user", "isUser", "fromUser", "isHuman", "is_human"];
const WHAT = ["content", "text", "value", "parts", "message", "body", "mes"];
const ASKED = ["request", "prompt", "instruction", "question", "problem", "input", "inputs", "query", "messages", "message"];
const ANSWERED = [
  ...["completion", "response", "responses", "output", "outputs", "answer", "explanation", "rationale", "solution"],
  ...["generated_text", "assistant", "reply"],
];
/** Names of what a record says; other strings are beside it. */
const READ = new Set([...WHAT, ...ASKED, ...ANSWERED]);
/** In the names of long strings that are no answer: what was asked, or how. */
const NOT_OTHERS = ["prompt", "instruct", "question", "query", "input", "request", "schema"];
/** Words of a string that is no name, number or date. */
const PHRASE = 3;
/** What a notebook has as the text of a thing that it shows in another form. */
const NAMED = /^\s*(?:<[^<>]{1,200}>)?\s*$/;
/** Where a message has calls of tools beside its words, and in a call what the model gives to the tool. */
const [CALLS, GIVEN] = [["tool_calls", "function_call"], ["input", "arguments", "args", "parameters"]];
/** In the names of parts of a message that are no words of it. */
const THOUGHTS = ["think", "reasoning"];
const UNSAID = ["tool", "function", ...THOUGHTS];
/** Names of what is true of a part that the model thought. */
const IS_THOUGHT = ["thought", "isThought"];
/** Begins JSON, or a stream of it, in a string. */
const PACKED = /^\s*(?:[{[]|(?:data|event): ?)/;
/** What may be text in base64, as programs keep what a server sent. */
const CODED = /"([A-Za-z0-9+/]{43,}={0,2})"/g;
/** A line of a stream that has no record. */
const FIELD = /^(?:event|id|retry)?:.*/gm;
const ESCAPE = /(?:\\u[0-9A-Fa-f]{4})+|\\["\\/bfnrt]/g;
/** A string of JSON, or where a record ends and the next begins; it matches at any quote, or time doubles. */
const NEXT = /"[^"\\]*(?:\\[^]?[^"\\]*)*"?|\}\s*\{/g;
/** An event of a stream, and its data. */
const [EVENT, DATA] = [/^(?:(?:event|id|retry|data)?:.*(?:\r?\n|(?![^])))+$/, /^data:(.*?)\r?$/gm];
/** A part of a stream that has a letter or a number for its kind, as Vercel's programs send it. */
const PART = /^([0-9a-z]):(["{[].*)$/gm;
/** The kinds of a part that the model said, and that it thought and did not say. */
const [SAID, THOUGHT] = ["0", "g"];
/** A character of a script with spaces between words. */
const SPACED = /[\0-\u0dff]/g;
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
 * What a model wrote in JSON, JSON lines, or lines of server-sent events, and the name of other long texts:
 * `{text, left}`; all of JSON that is no chat. Refused as `document-refused` where it has messages of people, and none
 * of a model.
 */
export function ofChat(given) {
  const text = given.replace(CODED, jsonIn);
  const values = valuesIn(text);
  const [words, rest] = wordsIn(values);
  if (words === null) return { text: values.length > 0 ? unescaped(text).toWellFormed() : text, left: [] };
  return { text: words.toWellFormed(), left: others(longIn(rest), () => [words, ...messagesIn(rest).map(([, message]) => message)]) };
}

/** The words, and the values that may have others: all beside messages, of a stream those without a piece. */
function wordsIn(values) {
  const cells = values.flatMap(cellsOf);
  if (cells.length > 0) return [ofNotebook(cells), []];
  const records = values.flat().filter(isRecord);
  const pieces = records.map(piecesOf);
  const [more, rest] = varied(records.filter((_, i) => pieces[i].length === 0));
  const told = [...streamed(pieces.flat()), ...more];
  if (told.length > 0) return [joined(told), [...rest, ...values.filter((value) => typeof value === "string")]];
  return [joined(ofModels(messagesIn(values))) || joined(unsigned(records)) || null, values];
}

/** JSON with the characters for which it has signs: of many languages it would show no word else. */
export const unescaped = (text) => text.replace(ESCAPE, (found) => JSON.parse(`"${found}"`));

/** Whether a writer is a model, by its role or by a name such as `gpt-4o-mini`, which people do not have. */
function isModel(name) {
  const who = name.toLowerCase();
  const isNamed = !who.includes(" ") || /\p{Nd}/u.test(who);
  return WRITERS.has(who) || (isNamed && who.split(/[^a-z]+/).some((part) => WRITERS.has(part)));
}

const isPerson = (who) => PEOPLE.has(who.toLowerCase());

/** The messages that models wrote; all where nothing says who of the writers is one. */
function ofModels(messages) {
  const written = messages.filter(([who]) => isModel(who));
  const others = messages.filter(([who]) => !isPerson(who));
  sound(messages.length === 0 || others.length > 0, "people", "it has messages of people, and none of a model");
  return (written.length > 0 ? written : others).map(([, words]) => words);
}

/** The words of records that name no writer; none where other strings hold more, as in tables of phrases. */
function unsigned(records) {
  const size = (texts) => texts.reduce((sum, text) => sum + text.length, 0);
  const told = records.map(said);
  return 2 * size(told) >= size(records.flatMap(stringsIn).map(([, text]) => text)) ? told : [];
}

/**
 * The long strings in values, and phrases that are long together since records have them beside their words; but for packed
 * ones, what people wrote or asked, and thoughts.
 */
function longIn(values) {
  const found = [];
  const beside = new Map(); // by the names that records have for them
  const waiting = values.toReversed().map((value) => [null, value]); // no name: between the lines
  while (waiting.length > 0) {
    const [name, value] = waiting.pop();
    if (typeof value === "string") {
      if (name !== null && PACKED.test(value)) continue;
      if (sizeOf(value) >= LONG) found.push(value);
      else if (name) beside.set(name, (beside.get(name) ?? new Set()).add(value));
    } else if (Array.isArray(value)) for (let i = value.length - 1; i >= 0; i--) waiting.push([name, value[i]]);
    else if (isRecord(value) && !isPerson(whoOf(value)) && !isUnsaid(value)) {
      // A row of a table has other texts beside its words.
      const row = !whoOf(value) && (name || said(value) || isPair(value));
      const inner = Object.entries(value).filter(([key, each]) => typeof each !== "string" || !asks(key));
      for (const [key, each] of inner.reverse()) waiting.push([row && !READ.has(key) ? key : "", each]);
    }
  }
  for (const texts of beside.values()) {
    const phrases = [...texts].filter((text) => sizeOf(text) >= PHRASE).length;
    const together = [...texts].join("\n\n");
    if (2 * phrases >= texts.size && sizeOf(together) >= LONG) found.push(together);
  }
  return found;
}

const asks = (key) => ASKED.includes(key) || [...NOT_OTHERS, ...UNSAID].some((name) => key.toLowerCase().includes(name));

/** The prose, else the code; and what the code printed. */
function ofNotebook(cells) {
  const full = (texts) => texts.filter((text) => text.trim() !== "");
  const sources = (some) => full(some.map((cell) => textOf(cell.source)));
  const prose = sources(cells.filter((cell) => cell.cell_type !== "code"));
  const outputs = cells.flatMap((cell) => (Array.isArray(cell.outputs) ? cell.outputs.filter(isRecord) : []));
  const printed = full(outputs.map(printedBy));
  return joined([...(prose.length > 0 ? prose : sources(cells)), ...printed]);
}

/** The text that code printed or gave; of a page or of Markdown that it shows there is only a name as text. */
function printedBy({ text, data }) {
  const [markdown, html, plain] = ["markdown", "html", "plain"].map((form) => textOf(isRecord(data) ? data[`text/${form}`] : ""));
  if (html !== "" && markdown === "" && NAMED.test(plain)) return wordsOf(html);
  return textOf(text) || markdown || plain;
}

/**
 * The whole text as a value; or the value in each line, and the prose between; or values behind each other. There are none
 * where other words hold a part of the text.
 */
function valuesIn(text) {
  const whole = valueOf(text);
  if (whole !== undefined) return [whole];
  const parts = Array.from(text.matchAll(PART), ([line, kind, written]) => [line, valueOf(written), kind === THOUGHT ? "reasoning" : kind]);
  const lines = text.split("\n").map((line) => [line, line.search(/\[ ?\{|\{/)]).filter(([, at]) => at >= 0 && at <= LONGEST_START);
  const all = parts.length > 0 ? parts : lines.map(([line, at]) => [line, valueOf(line.slice(at).replace(/\x1e\s*$/, ""))]);
  const found = all.filter(([, value]) => value !== undefined);
  const [used, fields] = [found, [...text.matchAll(FIELD)]].map((lines) => lines.map(([line]) => line));
  const size = (some) => some.reduce((sum, line) => sum + line.length, 0);
  if (found.length === 0 || 4 * size(used) < 3 * (text.replace(/[\r\n]/g, "").length - size(fields))) {
    const events = eventsIn(text).map((data) => ({ [SAID]: data }));
    return events.length > 0 ? events : behindEachOther(text);
  }
  const told = new Set([...used, ...fields].map((line) => line.trim()));
  const between = prose(text.split(/\r?\n/).filter((line) => !told.has(line.trim())));
  return [...found.map(([, value, kind]) => (kind ? { [kind]: value } : value)), ...(between === "" ? [] : [between])];
}

/** The records of a text that has nothing between them, not even lines. */
const behindEachOther = (text) => valueOf(`[${text.replace(NEXT, (found) => (found[0] === '"' ? found : "},{"))}]`) ?? [];

/** The JSON that a string in JSON is in base64, or the string of other text, of a page its words. */
function jsonIn(whole, letters) {
  const text = uncoded(letters);
  if (text === null || valueOf(text) !== undefined) return text ?? whole;
  return JSON.stringify(text.includes("</") ? wordsOf(text) : text);
}

/** The data of server-sent events without JSON, where a text is nothing else. */
function eventsIn(text) {
  const blocks = text.replace(/^[\r\n]+|[\r\n]+$/g, "").split(/\r?\n\r?\n/);
  if (!blocks.every((block) => EVENT.test(block))) return [];
  const all = blocks.map((block) => Array.from(block.matchAll(DATA), ([, data]) => data).join("\n"));
  const events = all.filter((event) => event !== "" && event.trim() !== "[DONE]");
  const bare = events.map((event) => event.replace(/^ /, "")); // some servers send the space that the standard leaves out
  return events.every((event) => /^[ \n]/.test(event)) && bare.some(isPiece) ? bare : events;
}

function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The answers whose pieces these are, one after the other. */
function streamed(pieces) {
  let last = pieces.map(([answer]) => answer).find((answer) => answer !== "") ?? "";
  const parts = new Map();
  for (const [answer, choice, call, text] of pieces) {
    last = answer || last;
    const part = JSON.stringify([last, choice, call]);
    if (!parts.has(part)) parts.set(part, []);
    parts.get(part).push(text);
  }
  return [...parts].flatMap(([part, texts]) => (JSON.parse(part)[2] === "" ? whole(texts) : ofCall(texts.join(""))));
}

/** Pieces as one text; refused where the spaces between them are lost. */
function whole(pieces) {
  const text = pieces.join("");
  const spaced = 2 * (text.match(SPACED) ?? []).length > text.length;
  sound(pieces.length < LONG || !spaced || wordsApart(text).length !== 1, "spaces", "its pieces have no spaces between words");
  return text;
}

/** The texts in what a model gives to a tool. */
const ofCall = (text) => givenIn({ content: { arguments: text } }, "assistant");

/** The pieces of answers that a record carries, as the common servers write them: answer, choice, call of a tool, text. */
function piecesOf(value) {
  const [answer, found] = [nameOf(value.id), []];
  const choices = Array.isArray(value.choices) ? value.choices.filter(isRecord) : [];
  for (const [number, choice] of (choices.length > 0 ? choices : [{}]).entries()) {
    const [which, delta] = [nameOf(choice.index ?? number), choice.delta ?? value.delta];
    const text = pieceOf(value, choice, delta);
    if (text !== "") found.push([answer, which, "", text]);
    for (const call of isRecord(delta) && Array.isArray(delta.tool_calls) ? delta.tool_calls.filter(isRecord) : []) {
      const given = textOf(isRecord(call.function) ? call.function.arguments : "");
      if (given !== "") found.push([answer, which, nameOf(call.index ?? 0), given]);
    }
  }
  return found;
}

/** What tells answers apart; empty where it is missing. */
const nameOf = (value) => (value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));

/** The piece of an answer in a choice. */
function pieceOf(value, choice, delta) {
  if (typeof delta === "string") return String(value.type ?? "text").includes("text") ? delta : "";
  if (isRecord(delta)) return textOf(delta.content ?? delta.text);
  if (Object.keys(choice).length > 0) return "message" in choice ? "" : textOf(choice.text);
  if (isRecord(value.token)) return textOf(value.token.text);
  if ("stop" in value) return textOf(value.content);
  if ("done" in value) return textOf(isRecord(value.message) ? value.message.content : value.response);
  return textOf(first(value.candidates).content);
}

/**
 * The texts in a stream of an unknown program: strings at the same place that go on in each other. Then the records that
 * have none of these strings.
 */
function varied(records) {
  if (records.some((record) => said(record) && !isModel(whoOf(record) || "model"))) return [[], records];
  const places = new Map();
  for (const record of records) {
    for (const [place, text] of stringsIn(record)) places.has(place) ? places.get(place).push(text) : places.set(place, [text]);
  }
  const sure = new Map([...places].filter(([, texts]) => texts.length >= LEAST && SHARE * texts.filter(isPiece).length >= texts.length));
  if (sure.size === 0) {
    whole(places.get(JSON.stringify(["", SAID])) ?? []); // events of plain text whose spaces are lost look like no pieces; refuse them
    return [[], records];
  }
  const told = [...sure.values()].flatMap((texts) => {
    const text = texts.join("");
    const given = text.startsWith("{") ? ofCall(text) : [];
    return given.length > 0 ? given : [text];
  });
  return [told, records.filter((record) => !stringsIn(record).some(([place]) => sure.has(place)))];
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
    else if (isRecord(value) && !isUnsaid(value, THOUGHTS)) {
      const inner = Object.entries(value).filter(([key]) => !THOUGHTS.some((name) => key.toLowerCase().includes(name)));
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
  if (!isPair(pair)) return "";
  return ANSWERED.includes(key) ? "assistant" : ASKED.includes(key) ? "user" : "";
}

function isPair(record) {
  const [asked, answered] = [ASKED, ANSWERED].map((names) => names.some((name) => Object.hasOwn(record, name)));
  return (asked && answered) || Object.hasOwn(record, "generated_text");
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
    return wordsIn(valuesIn(words.replace(CODED, jsonIn)))[0] || words;
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
    if (typeof value === "string" && toTool && sizeOf(value) >= SENTENCE) found.push(value);
    else if (Array.isArray(value)) for (let i = value.length - 1; i >= 0; i--) waiting.push([toTool, value[i]]);
    else if (isRecord(value)) for (const [key, each] of Object.entries(value).reverse()) waiting.push([toTool || GIVEN.includes(key), each]);
  }
  return found;
}

function whoOf(message) {
  const flag = byFlag(message);
  if (flag !== "") return flag;
  for (const key of WHO) {
    const value = message[key];
    const who = isRecord(value) ? byFlag(value) || (value.role ?? value.name) : value;
    if (typeof who === "string" && who !== "") return who;
  }
  return KIND.map((key) => byKind(message[key])).find((who) => who !== "") ?? "";
}

/** Who wrote a message of which it is only said whether a person did. */
function byFlag(message) {
  const flag = BY_PEOPLE.map((key) => message[key]).find((value) => typeof value === "boolean");
  return flag === undefined ? "" : flag ? "user" : "assistant";
}

/** Who wrote a message of a kind, if that says it. */
function byKind(given) {
  const kind = typeof given === "string" ? given.toLowerCase() : "";
  return WRITERS.has(kind) ? kind : (KINDS.get(kind) ?? "");
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
function isUnsaid(value, names = UNSAID) {
  const kinds = [value.type, value.kind].map((kind) => String(kind ?? "").toLowerCase());
  return names.some((name) => kinds.some((kind) => kind.includes(name))) || IS_THOUGHT.some((key) => value[key] === true);
}
