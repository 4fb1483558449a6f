/** Mail: the words of its parts, in the order in which they stand; of alternatives the first that is not cut short. */
import { DEPTH } from "./budget.js";
import { fromBinary, toBinary } from "./binary.js";
import { decoded, wordsOf } from "./html.js";
import { mailIn } from "./kinds.js";
import { sound } from "./refused.js";

/** The line before each mail in a file of several: who sent it, and when. */
const FIRST = /^From (?=[^\n]*\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b)[^\n]*\n(?=[!-9;-~]{1,998}:)/gm;

/** A file between the words, as programs attach it to mail without parts. */
const UUENCODED = /^begin [0-7]{3,4} ([^\r\n]+)\r?\n[ -`\r\n]*^end[ \t]*\r?$/gm;

/** Begins a mail that is not packed. */
const HEADER = /^\s*[!-9;-~]{1,998}:/;

/**
 * The words of mails, and the names of the attachments, which are not read.
 *
 * @param bytes of one mail, or of several in a file
 */
export function wordsOfMail(bytes, budget) {
  const given = toBinary(bytes);
  const raw = mailIn(given) ?? given;
  const others = raw.startsWith("From ") ? Array.from(raw.matchAll(FIRST), ({ index }) => index).filter((at) => at > 0) : [];
  const found = all([0, ...others].map((start, i) => read(raw.slice(start, others[i]), budget, 0)));
  return { text: found.words.join("\n\n"), left: found.left };
}

const all = (parts) => ({ words: parts.flatMap(({ words }) => words), left: parts.flatMap(({ left }) => left) });

/** Headers by their small names, and the body. */
function split(part) {
  const bare = /^\r?\n/.exec(part); // no headers at all
  const end = bare ?? /\r?\n\r?\n/.exec(part);
  const head = part.slice(0, end ? end.index : part.length).replace(/\r?\n[ \t]+/g, " ");
  const headers = new Map();
  for (const line of head.split(/\r?\n/)) {
    const [, name, value] = /^([!-9;-~]{1,998}):(.*)$/.exec(line) ?? [];
    if (name && !headers.has(name.toLowerCase())) headers.set(name.toLowerCase(), value.trim());
  }
  return { headers, body: end ? part.slice(end.index + end[0].length) : "" };
}

/** A header's value and its parameters. */
function valueOf(header = "") {
  const parameters = {};
  for (const [, name, quoted, bare] of header.matchAll(/;\s*([\w*-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;]+))/g)) {
    parameters[name.toLowerCase().replace(/\*.*$/, "")] ??= bare ?? quoted.replace(/\\(.)/g, "$1");
  }
  return { value: /^[^;\s]*/.exec(header)[0].toLowerCase(), parameters };
}

/** The words of a part of a mail and of the parts in it, and the names of what is attached; `unsaid` is a part's type if it names none. */
function read(part, budget, depth, unsaid = "text/plain") {
  budget.count();
  sound(depth <= DEPTH, "nested", `more than ${DEPTH} mails or parts are inside each other`);
  const { headers, body } = split(part);
  const { value: type, parameters } = valueOf(headers.get("content-type") ?? unsaid);
  const placed = valueOf(headers.get("content-disposition"));
  const name = placed.parameters.filename ?? parameters.name;
  const attached = placed.value === "attachment" || name !== undefined;
  if (type.startsWith("multipart/") && parameters.boundary) {
    const unsaidIn = type === "multipart/digest" ? "message/rfc822" : undefined;
    const inner = partsOf(body, parameters.boundary, budget).map((each) => read(each, budget, depth + 1, unsaidIn));
    return type === "multipart/alternative" ? chosen(inner) : all(inner);
  }
  if (type === "message/rfc822") {
    const packing = headers.get("content-transfer-encoding")?.toLowerCase();
    const packed = packing === "quoted-printable" || (packing === "base64" && !HEADER.test(body)); // though no standard allows it
    return read(packed ? toBinary(bytesOf(body, packing)) : body, budget, depth + 1);
  }
  if (!attached && (type === "text/plain" || isPage(type) || type === "")) {
    budget.read(body.length);
    const charset = parameters.charset ?? (isPage(type) ? null : "utf-8");
    const text = decoded(bytesOf(body, headers.get("content-transfer-encoding")), charset);
    const words = (isPage(type) ? wordsOf(text) : unflowed(text.replace(UUENCODED, ""), parameters)).trim();
    const files = isPage(type) ? [] : Array.from(text.matchAll(UUENCODED), ([, file]) => file.trim());
    return { words: words === "" ? [] : [words], left: files };
  }
  return { words: [], left: attached || !/^(image|audio|video)\//.test(type) ? [name ?? type] : [] };
}

/** Whether a part is HTML, for all programs or for some. */
const isPage = (type) => /^text\/(?:[a-z-]*-)?html$/.test(type);

/**
 * The words of the first alternative, mostly the plain one, that has at least half of the words of each other: some
 * programs write no more there than that the mail is a page. What is attached may be in any.
 */
function chosen(alternatives) {
  const lengths = alternatives.map(({ words }) => words.join("").length);
  const most = lengths.reduce((a, b) => Math.max(a, b), 0);
  return { ...all(alternatives), words: alternatives.find((_, i) => 2 * lengths[i] >= most)?.words ?? [] };
}

/** The parts between lines of a boundary. */
function partsOf(body, boundary, budget) {
  const found = [];
  const line = `--${boundary}`;
  let start = -1;
  for (let at = body.indexOf(line); at >= 0; at = body.indexOf(line, at + line.length)) {
    if ((at > 0 && body[at - 1] !== "\n") || !/^(?:--)?\s*(?:\n|$)/.test(body.slice(at + line.length, at + line.length + 80))) continue;
    if (start >= 0) found.push(body.slice(start, at).replace(/\r?\n$/, ""));
    sound(found.length <= budget.members, "parts", "it has too many parts");
    const end = body.indexOf("\n", at);
    start = end < 0 || body.startsWith("--", at + line.length) ? -1 : end + 1;
    if (start < 0) break;
  }
  if (start >= 0) found.push(body.slice(start)); // its last boundary is cut off
  return found;
}

/** The bytes of a body, each character one byte. */
function bytesOf(body, encoding = "") {
  const named = encoding.toLowerCase();
  if (named === "base64") return fromBase64(body);
  if (/^(?:x-)?uu(?:e|encode)$/.test(named)) return fromUuencoded(body);
  return named === "quoted-printable" ? fromQuoted(body) : fromBinary(body);
}

const hexadecimal = (code) => (code >= 48 && code <= 57) || (code >= 65 && code <= 70) || (code >= 97 && code <= 102);

/** The bytes of quoted-printable text. */
export function fromQuoted(text) {
  const found = new Uint8Array(text.length);
  let [length, kept] = [0, 0]; // white space at the end of a line is not kept
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 10) {
      length = found[kept - 1] === 61 && softEnds(text, at) ? kept - 1 : kept;
      if (length === kept) found[length++] = 10;
      kept = length;
    } else if (code === 61 && hexadecimal(text.charCodeAt(at + 1)) && hexadecimal(text.charCodeAt(at + 2))) {
      found[length++] = parseInt(text.slice(at + 1, at + 3), 16);
      at += 2;
      kept = length;
    } else {
      found[length++] = code;
      if (code !== 32 && code !== 9 && code !== 13) kept = length;
    }
  }
  return found.subarray(0, length);
}

/** Whether a line that ends at a place ends in a sign of its own that it goes on, and not in a coded one. */
function softEnds(text, at) {
  let end = at;
  while (end > 0 && " \t\r".includes(text[end - 1])) end--;
  return text[end - 1] === "=";
}

/** Base64 that begins anew behind its end, and no words behind it. */
const ANEW = /^[\w+/\s-]*=[=\s]*[\w+/-][\w+/=\r\n-]*$/;

/** The bytes of base64, and not what a program on the way added behind its end; refused where it is broken. */
export function fromBase64(text) {
  const pieces = text.replaceAll("-", "+").replaceAll("_", "/").replace(/[^A-Za-z0-9+/=]+/g, "").split(/=+/);
  try {
    return fromBinary((ANEW.test(text) && allOf(pieces)) || atob(pieces[0]));
  } catch {
    return sound(false, "broken", "the base64 is broken; take it whole");
  }
}

/** The bytes of all pieces of base64; null if one is none. */
function allOf(pieces) {
  try {
    return pieces.map(atob).join("");
  } catch {
    return null;
  }
}

/** The bytes of uuencoded text: each line has its size before its letters, and four letters have three bytes. */
function fromUuencoded(text) {
  const lines = text.split(/\r?\n/);
  const begin = lines.findIndex((line) => line.startsWith("begin "));
  if (begin < 0) return fromBinary(text);
  const found = [];
  for (const line of lines.slice(begin + 1, lines.indexOf("end", begin) >>> 0)) {
    const six = (at) => (line.charCodeAt(at) - 32) & 63; // a space at a line's end may be lost: it is 0, as NaN is
    for (let i = 0; i < six(0); i++) {
      const at = 1 + 4 * Math.floor(i / 3) + (i % 3);
      found.push(((six(at) << (2 + 2 * (i % 3))) | (six(at + 1) >> (4 - 2 * (i % 3)))) & 255);
    }
  }
  return Uint8Array.from(found);
}

/** A text whose lines go on where they end in a space, where the mail says so (RFC 3676). */
function unflowed(text, { format, delsp }) {
  const lines = text.replaceAll("\r\n", "\n");
  if (format?.toLowerCase() !== "flowed") return lines;
  return lines.replace(/(?<!^--) \n(?=[^\n>])/gm, delsp?.toLowerCase() === "yes" ? "" : " ");
}
