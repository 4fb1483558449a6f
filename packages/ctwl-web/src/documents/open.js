/** The words in the files that people have: office documents, books, pages, mail, chats, subtitles, plain text. */
import { require } from "../refusal.js";
import { toBinary } from "./binary.js";
import { Budget, DEPTH, FILE, WORDS } from "./budget.js";
import { ofChat } from "./chats.js";
import { decoded } from "./html.js";
import { DATA, kindOf, kindOfZip } from "./kinds.js";
import { fromBase64, fromQuoted, wordsOfMail } from "./mail.js";
import { DIALECTS, wordsOfBook, wordsOfFlat, wordsOfFlatOffice, wordsOfOffice } from "./office.js";
import { ofPage } from "./pages.js";
import { DocumentRefused, NotOpened, sound } from "./refused.js";
import { wordsOfSubtitles } from "./subtitles.js";
import { directoryOf } from "./zip.js";

/**
 * The words in a file: `{text, kind, left}`, where `kind` is null for plain text and `left` names what was not read.
 * Refused as `input-too-large`, `not-text`, `document-refused` ({@link DocumentRefused}) or `not-opened`
 * ({@link NotOpened}).
 */
export async function openDocument(bytes) {
  require(bytes.length <= FILE, "input-too-large", `the file has more than ${FILE} bytes`);
  const found = await opened(bytes, new Budget(), 0);
  require(found.text.length <= WORDS, "input-too-large", `it has more than ${WORDS} characters`);
  return { left: [], ...found };
}

/** What opens a kind: `{text, left}` of bytes, and of a zip's directory where they are one. */
const OPENERS = {
  epub: (bytes, { directory, budget }) => wordsOfBook(bytes, directory, budget),
  "flat-office": (bytes) => wordsOfFlatOffice(bytes),
  html: (bytes) => ofPage(decoded(bytes)),
  mail: (bytes, { budget }) => wordsOfMail(bytes, budget),
  base64: (bytes, { budget, depth }) => opened(fromBase64(plain(bytes).replace(DATA, "")), budget, depth + 1),
  chat: (bytes) => ofChat(plain(bytes)),
  subtitles: (bytes) => wordsOfSubtitles(plain(bytes)),
  quoted: (bytes) => ({ text: plain(fromQuoted(toBinary(bytes))) }),
  ...Object.fromEntries(Object.entries(DIALECTS).map(([kind, dialect]) => [kind, (bytes, more) => ofOffice(bytes, { ...more, dialect })])),
};

async function opened(bytes, budget, depth) {
  sound(depth <= DEPTH, "nested", `more than ${DEPTH} files are packed in each other`);
  let kind = kindOf(bytes);
  const directory = kind === "zip" ? directoryOf(bytes) : null;
  if (directory) kind = kindOfZip(directory);
  else if (kind !== "mail") budget.read(bytes.length);
  if (kind?.startsWith("utf-16")) return opened(new TextEncoder().encode(plain(bytes, kind)), budget, depth + 1);
  if (kind === null) return { kind, text: plain(bytes) };
  if (!Object.hasOwn(OPENERS, kind)) throw new NotOpened(kind);
  return { ...(await OPENERS[kind](bytes, { directory, budget, depth })), kind };
}

/** The words of an office document and of the files that are a part of its text. */
async function ofOffice(bytes, { directory, budget, depth, dialect }) {
  if (directory === null) return wordsOfFlat(bytes, dialect);
  const { text, chunks, left } = await wordsOfOffice(bytes, directory, budget, dialect);
  const texts = [text];
  for (const [name, chunk] of chunks) {
    try {
      const found = await opened(chunk, budget, depth + 1);
      texts.push(found.text);
      left.push(...(found.left ?? []));
    } catch (error) {
      if (!(error instanceof NotOpened || error instanceof DocumentRefused)) throw error;
      left.push(name);
    }
  }
  return { text: texts.filter((words) => words.trim() !== "").join("\n\n"), left };
}

/** The text in bytes of a charset. */
function plain(bytes, charset = "utf-8") {
  let text = "\0";
  try {
    text = new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    // Refused below.
  }
  require(!text.includes("\0"), "not-text", "it is no text and no document that is known here");
  return text;
}
