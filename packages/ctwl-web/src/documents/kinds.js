/** What kind of file bytes are, by what stands in them; a name proves nothing. */
import { toBinary } from "./binary.js";
import ROWS from "./kinds.json" with { type: "json" };

/** Bytes of the beginning that tell the kind of a text. */
const BEGINNING = 2 ** 14;

/** Bytes of the head of a mail: one to many people that passed many servers has tens of thousands. */
const HEAD = 2 ** 18;

/** What both readers know of each kind, by its name; `ctwl_decoder/kinds.py` says what the rows have. */
export const KINDS = ROWS;

/** Each of a list that some kinds have, with the kind's name. */
const all = (list) => Object.entries(KINDS).flatMap(([kind, row]) => (row[list] ?? []).map((each) => [each, kind]));

const SIGNS = all("begins");
/** Bytes as characters with the place where they stand in a file that is no text: words may have them, too. */
const MAGIC = [...all("bytes"), [["\xff\xfe", 0], "utf-16le"], [["\xfe\xff", 0], "utf-16be"]];
const XML = String.raw`(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!--(?:(?!-->)[^]){0,2000}-->\s*)*(?:<!doctype\s+plist[^>]{0,200}>\s*)?`;
/** What the beginning of a text shows. */
const PATTERNS = Object.entries(KINDS).flatMap(([kind, { xml, pattern }]) => {
  const found = xml ? [[new RegExp(`^${XML}${xml}`, "i"), kind]] : [];
  return pattern ? [...found, [new RegExp(`^(?:${pattern})`), kind]] : found;
});

/** No text has these characters. */
const CONTROL = /[\0-\x06\x0e-\x1a\x1c-\x1f]/;
/** What stands before a mail: Apple's program writes the number of its bytes. */
const LEAD = /^(?:\xef\xbb\xbf)?\s*(?:(\d{1,9})[ \t]*\r?\n)?/;
const HEADER = String.raw`[!-9;-~]{1,998}:[^\n]*\n(?:[ \t][^\n]*\n)*`; // one way to match a line end, or time doubles
/** The head of a mail; one header alone may begin prose, too. */
const MAIL = new RegExp(String.raw`^(?=[Cc]ontent-[Tt]|[^\n]*\n[^\r\n])(?:From [^\n]*\n)?(?:${HEADER}){1,400}\r?\n`);
/** No person types these values, and web servers send few: notes and essays have others below the same names. */
const HEADER_OF_MAIL =
  String.raw`(?:mime-version:\s*\d\.\d|message-id:\s*<|content-(?:type|transfer-encoding|disposition):\s*` +
  String.raw`(?:(?:text/(?:plain|html)|(?:multipart|message)/[\w-]+)|inline|attachment|form-data|[78]-?bit` +
  String.raw`|binary|base64|quoted-printable|(?:x-)?uue(?:ncode)?)[ \t]*(?:;|\r?\n))`;
const OF_MAIL = new RegExp(`^${HEADER_OF_MAIL}`, "im");
/** Every mail has these, with seconds, a zone and an address, which letters and talks do not have. */
const LEAST = [/^date:[^\n]*\d:\d\d:\d\d +(?:[+-]\d{4}|[a-z]{3})/im, /^from[: ][^\n]*@/im];
/** Begins the body of a mail whose head is cut off. */
const PARTS = new RegExp(String.raw`^(?:[^\n]{0,200}\n){0,5}?--(?!-*\s)([^\s"]{1,70})[ \t]*\r?\n(?=(?:${HEADER}){0,9}?${HEADER_OF_MAIL})`, "i");
/** Begins base64 that is an address of its own. */
export const DATA = /^data:[^,\s]{0,100};base64,/;
const LONG_RUN = /^\s*[A-Za-z0-9+/_-]{50}/;
const SOFT_BREAK = /^[^\n]{49,74}[^\n=](?<![A-Za-z0-9+/]{40})=\r?$/gm;
/** In quoted-printable text an equals sign begins a code or a line's soft end. */
const NOT_QUOTED = /=(?![0-9A-Fa-f]{2}|[ \t]*\r?(?:\n|(?![^]))|[0-9A-Fa-f](?![^]))/;

/** The kind of a file; null for plain text, and for what nobody knows. */
export function kindOf(bytes) {
  const beginning = toBinary(bytes.subarray(0, BEGINNING));
  const line = /^[^\r\n]*/.exec(beginning.slice(0, 1024))[0].trimEnd();
  const sign = SIGNS.find(([start]) => line.startsWith(start) && !line.includes(" ", start.length))?.[1];
  if (sign) return sign;
  const text = isText(bytes.subarray(0, 1024));
  const found = MAGIC.find(([[magic, place]]) => beginning.startsWith(magic, place))?.[1];
  if (found && !text) return found;
  const ends = toBinary(bytes.subarray(-1024)).includes("%%EOF");
  if (beginning.slice(0, 1024).includes("%PDF-") && (!text || ends)) return "pdf"; // a header may stand before it
  const wide = wideCharset(bytes);
  if (wide) return wide;
  if (mailIn(toBinary(bytes.subarray(0, HEAD))) !== null) return "mail";
  const run = LONG_RUN.exec(beginning.replace(DATA, ""))?.[0] ?? "";
  const mixed = [/[A-Z]/, /[a-z]/, /[0-9]/].every((some) => some.test(run)); // a gene is no base64
  if (mixed && isBase64(bytes)) return "base64";
  if (beginning.match(SOFT_BREAK)?.length > 2 && !NOT_QUOTED.test(beginning)) return "quoted";
  return PATTERNS.find(([pattern]) => pattern.test(beginning))?.[1] ?? null;
}

/**
 * The mail, or the mails, that a string of bytes is, without what programs write around it; null of others. A body whose
 * head is cut off gets one.
 */
export function mailIn(given) {
  const raw = withLineEnds(given);
  const [{ length: start }, size] = LEAD.exec(raw);
  const end = size === undefined ? raw.length : start + Number(size);
  const mail = raw.startsWith("<?xml", end) ? raw.slice(start, end) : raw.slice(start); // Apple's program writes this behind it
  const head = MAIL.exec(mail.slice(0, HEAD))?.[0] ?? "";
  if (OF_MAIL.test(head) || LEAST.every((each) => each.test(head))) return mail;
  const boundary = PARTS.exec(mail.slice(0, BEGINNING))?.[1];
  if (boundary === undefined || behind(mail, `--${boundary}--`) !== "") return null;
  return `Content-Type: multipart/mixed; boundary="${boundary}"\n\n${mail}`;
}

/** What stands behind the end of the last part: words about a mail, which is an example in them. */
function behind(raw, end) {
  const at = raw.lastIndexOf(end);
  return at < 0 ? "" : raw.slice(at + end.length).trim();
}

/** A text whose lines ended in CR, or in CR CR LF, in whose beginning this shows. */
function withLineEnds(raw) {
  const beginning = raw.slice(0, BEGINNING);
  if (beginning.includes("\r\r\n")) return raw.replaceAll("\r\r\n", "\r\n");
  return beginning.includes("\n") ? raw : raw.replaceAll("\r", "\n");
}

/** Whether the beginning of a file is text in UTF-8. */
function isText(beginning) {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(beginning, { stream: true }); // its last character may be cut
  } catch {
    return false;
  }
  return !CONTROL.test(toBinary(beginning));
}

/** Whether nothing but base64 is in bytes, and enough: no pattern for all of it, since such need as much stack. */
function isBase64(bytes) {
  const text = toBinary(bytes).replace(DATA, "").trimEnd().replace(/={1,2}$/, "");
  return text.length >= 100 && !/[^A-Za-z0-9+/_\s-]/.test(text);
}

/** The charset of a text whose characters have two bytes and no mark, by where bytes are 0; null for any other. */
function wideCharset(bytes) {
  const half = Math.min(bytes.length, BEGINNING) >> 1;
  const zeros = [0, 0];
  for (let i = 0; i < 2 * half; i++) if (bytes[i] === 0) zeros[i % 2]++;
  const [first, second] = zeros;
  if (Math.max(first, second) <= half / 2 || Math.min(first, second) > half / 20) return null;
  return second > first ? "utf-16le" : "utf-16be";
}

/** The kind of what a zip file has, by its directory. */
export function kindOfZip(directory) {
  const folders = Array.from(directory.keys(), (name) => name.slice(0, name.indexOf("/") + 1));
  const known = new Set([...directory.keys(), ...folders]);
  return Object.keys(KINDS).find((kind) => KINDS[kind].members?.every((name) => known.has(name))) ?? "zip";
}
