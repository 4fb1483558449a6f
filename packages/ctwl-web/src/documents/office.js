/** Documents that are XML in a zip: DOCX and PPTX, OpenDocument, EPUB. Deleted words and comments are not read. */
import { WORDS } from "./budget.js";
import { decoded, wordsOf } from "./html.js";
import { parse } from "./markup.js";
import { sound } from "./refused.js";
import { member } from "./zip.js";

/** Spaces that one element of OpenDocument may stand for. */
const MOST_SPACES = 100;
const OFFICE_BREAKS = { tab: "\t", br: "\n", cr: "\n", noBreakHyphen: "-" };

/**
 * How a kind of XML holds words, elements by their local names: `parts`, the parts that have words; `paragraphs`; `words`,
 * whose text is words; `breaks`, what stands for an empty element; `unread`, what is left out.
 */
export const DIALECTS = {
  docx: {
    parts: /^word\/(document\d*|footnotes|endnotes)\.xml$/,
    paragraphs: new Set(["p"]),
    words: new Set(["t"]),
    breaks: OFFICE_BREAKS,
    unread: new Set(["Fallback", "moveFrom", "del", "tabs", "pPr"]),
  },
  pptx: {
    parts: /^ppt\/slides\/slide\d+\.xml$/,
    paragraphs: new Set(["p"]),
    words: new Set(["t"]),
    breaks: OFFICE_BREAKS,
    unread: new Set(["Fallback", "fld"]),
  },
  odf: {
    parts: /^content\.xml$/,
    paragraphs: new Set(["p", "h"]),
    words: new Set(["p", "h"]),
    breaks: { tab: "\t", "line-break": "\n", s: " " },
    unread: new Set(["tracked-changes", "annotation", "note-citation", "forms"]),
  },
};

/** The words of a document, a paragraph a line. */
export async function wordsOfOffice(bytes, directory, budget, dialect) {
  const paragraphs = [];
  for (const name of [...directory.keys()].filter((each) => dialect.parts.test(each)).sort(inOrder)) {
    addParagraphs(decodedXml(await member(bytes, directory, name, budget)), dialect, paragraphs);
  }
  const texts = paragraphs.map((pieces) => pieces.join(""));
  // Where the writer set empty paragraphs, these are the blank lines; else each paragraph has one after it.
  const spaced = texts.slice(1, -1).some((text) => text.trim() === "");
  return texts.join(spaced ? "\n" : "\n\n").trim();
}

/** The body first, notes after it, slides by their numbers. */
function inOrder(a, b) {
  const number = (name) => Number(/\d+/.exec(name)?.[0] ?? 0);
  return a.includes("notes") - b.includes("notes") || number(a) - number(b) || (a < b ? -1 : 1);
}

function decodedXml(bytes) {
  const [first, second] = bytes;
  const wide = first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : null;
  try {
    return new TextDecoder(wide ?? "utf-8", { fatal: true }).decode(bytes);
  } catch {
    return sound(false, "broken", "a part of it is broken: it is no text");
  }
}

function addParagraphs(xml, { paragraphs, words, breaks, unread }, found) {
  let [inWords, left] = [0, 0];
  parse(xml, {
    start(name, attributes) {
      if (unread.has(name)) left++;
      if (paragraphs.has(name)) found.push([]);
      else if (Object.hasOwn(breaks, name) && found.length > 0 && left === 0) {
        const times = /^\d{1,9}$/.test(attributes.c ?? "") ? Number(attributes.c) : 1;
        found.at(-1).push(breaks[name].repeat(Math.min(times, MOST_SPACES)));
      }
      if (words.has(name)) inWords++;
    },
    end(name) {
      if (unread.has(name)) left--;
      if (words.has(name)) inWords--;
    },
    text(data) {
      if (inWords > 0 && left === 0 && found.length > 0) found.at(-1).push(data);
    },
  });
}

/** The words of a book's chapters, in the order in which they are read. */
export async function wordsOfBook(bytes, directory, budget) {
  const part = async (name) => decodedXml(await member(bytes, directory, name, budget));
  const [listing = ""] = values(await part("META-INF/container.xml"), "rootfile", ["full-path"]).map(([path]) => path);
  const contents = await part(listing);
  const places = new Map(values(contents, "item", ["id", "href"]));
  const spine = new Set(values(contents, "itemref", ["idref"]).map(([name]) => places.get(name)));
  const chapters = [];
  let length = 0;
  for (const place of spine) {
    if (place === undefined) continue;
    const words = wordsOf(decoded(await member(bytes, directory, resolved(listing, place), budget)));
    length += words.length;
    sound(length <= WORDS, "large", `it has more than ${WORDS} characters`);
    chapters.push(words);
  }
  return chapters.filter((words) => words !== "").join("\n\n");
}

/** Some attributes of all elements of a name. */
function values(xml, element, names) {
  const found = [];
  parse(xml, { start: (name, attributes) => name === element && found.push(names.map((each) => attributes[each] ?? "")) });
  return found;
}

/** The name of the member that another one points to. */
function resolved(from, place) {
  const parts = [];
  for (const part of [...from.split("/").slice(0, -1), ...unquoted(place.replace(/#.*/s, "")).split("/")]) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return parts.join("/");
}

function unquoted(place) {
  try {
    return decodeURIComponent(place);
  } catch {
    return place;
  }
}
