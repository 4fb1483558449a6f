/** The words in the files that people have: office documents, books, pages, mail, chats, subtitles, plain text. */
import { require } from "../refusal.js";
import { toBinary } from "./binary.js";
import { Budget, DEPTH, FILE, WORDS } from "./budget.js";
import { wordsOfChat } from "./chats.js";
import { decoded, wordsOf } from "./html.js";
import { DATA, kindOf, kindOfZip } from "./kinds.js";
import { fromBase64, fromQuoted, wordsOfMail } from "./mail.js";
import { DIALECTS, wordsOfBook, wordsOfOffice, wordsOfPart } from "./office.js";
import { NotOpened, sound } from "./refused.js";
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

async function opened(bytes, budget, depth) {
  sound(depth <= DEPTH, "nested", `more than ${DEPTH} files are packed in each other`);
  let kind = kindOf(bytes);
  const directory = kind === "zip" ? directoryOf(bytes) : null;
  if (directory) kind = kindOfZip(directory);
  if (kind === "epub") return { kind, ...(await wordsOfBook(bytes, directory, budget)) };
  if (DIALECTS[kind] && directory) return { kind, ...(await ofOffice(bytes, directory, budget, kind, depth)) };
  if (directory) throw new NotOpened(kind);
  if (kind !== "mail") budget.read(bytes.length);
  if (kind?.startsWith("utf-16")) return opened(new TextEncoder().encode(plain(bytes, kind)), budget, depth + 1);
  if (kind === "flat-odf") return { kind, text: wordsOfPart(bytes, DIALECTS.odf) };
  if (kind === "html") return { kind, text: wordsOf(decoded(bytes)) };
  if (kind === "mail") return { kind, ...wordsOfMail(bytes, budget) };
  if (kind === "base64") return { ...(await opened(fromBase64(plain(bytes).replace(DATA, "")), budget, depth + 1)), kind };
  if (kind === "chat") return { kind, text: wordsOfChat(plain(bytes)) ?? plain(bytes) };
  if (kind === "subtitles") return { kind, text: wordsOfSubtitles(plain(bytes)) };
  if (kind === "quoted") return { kind, text: plain(fromQuoted(toBinary(bytes))) };
  if (kind !== null) throw new NotOpened(kind);
  return { kind, text: plain(bytes) };
}

/** The words of an office document and of the files that are a part of its text. */
async function ofOffice(bytes, directory, budget, kind, depth) {
  const { text, chunks, left } = await wordsOfOffice(bytes, directory, budget, DIALECTS[kind]);
  const texts = [text];
  for (const [name, chunk] of chunks) {
    try {
      const found = await opened(chunk, budget, depth + 1);
      texts.push(found.text);
      left.push(...(found.left ?? []));
    } catch (error) {
      if (!(error instanceof NotOpened)) throw error;
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
