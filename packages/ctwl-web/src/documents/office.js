/** Documents that are XML in a zip: DOCX and PPTX, OpenDocument, EPUB. Deleted words and comments are not read. */
import { WORDS } from "./budget.js";
import { decoded, wordsOf } from "./html.js";
import { KINDS } from "./kinds.js";
import { parse } from "./markup.js";
import { sound } from "./refused.js";
import { member } from "./zip.js";

const RELATED = /^word\/_rels\/document\d*\.xml\.rels$/;

/** Spaces that one element of OpenDocument may stand for. */
const MOST_SPACES = 100;

/**
 * How a kind of XML holds words, elements by their local names: `parts`, the parts that have words; `paragraphs`; `words`,
 * whose text is words; `breaks`, what stands for an empty element; `unread`, what is left out.
 */
export const DIALECTS = Object.fromEntries(
  Object.entries(KINDS).filter(([, row]) => row.dialect).map(([name, row]) => [name, dialect(row.dialect)]),
);

function dialect({ parts, breaks, ...names }) {
  const sets = Object.entries(names).map(([name, elements]) => [name, new Set(elements.split(" "))]);
  return { parts: new RegExp(`^(?:${parts})$`), breaks, ...Object.fromEntries(sets) };
}

/** The words of a document in a zip: `{text, chunks, left}`, where `chunks` are files whose words are a part of its text. */
export async function wordsOfOffice(bytes, directory, budget, dialect) {
  const parts = [];
  for (const name of [...directory.keys()].filter((each) => dialect.parts.test(each)).sort(inOrder)) {
    parts.push(wordsOfPart(await member(bytes, directory, name, budget), dialect));
  }
  const [chunks, left] = [[], []];
  for (const name of await chunksOf(bytes, directory, budget)) {
    if (directory.has(name)) chunks.push([name, await member(bytes, directory, name, budget)]);
    else left.push(name);
  }
  return { text: parts.filter((words) => words !== "").join("\n\n"), chunks, left };
}

/** The files whose words Word puts into the text when it opens the document (`altChunk`). */
async function chunksOf(bytes, directory, budget) {
  const found = [];
  for (const name of [...directory.keys()].filter((each) => RELATED.test(each)).sort()) {
    const related = values(decodedXml(await member(bytes, directory, name, budget)), "Relationship", ["Type", "Target"]);
    for (const [kind, place] of related) if (kind.endsWith("/aFChunk")) found.push(place.startsWith("/") ? place.slice(1) : resolved("word/", place));
  }
  return found;
}

/** The body first, then diagrams and notes, slides by their numbers. */
function inOrder(a, b) {
  const number = (name) => Number(/\d+/.exec(name)?.[0] ?? 0);
  const last = (part) => a.includes(part) - b.includes(part);
  return last("notes") || last("diagrams") || number(a) - number(b) || (a < b ? -1 : 1);
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

/** The words of one part; those of notes and boxes, which are paragraphs inside others, come last. */
export function wordsOfPart(bytes, { paragraphs, words, breaks, unread }) {
  const [outer, inner, open] = [[], [], []];
  let [inWords, left] = [0, 0];
  parse(decodedXml(bytes), {
    start(name, attributes) {
      if (unread.has(name)) left++;
      if (words.has(name)) inWords++;
      if (paragraphs.has(name)) {
        open.push([]);
        if (left === 0) (open.length > 1 ? inner : outer).push(open.at(-1));
      } else if (Object.hasOwn(breaks, name) && open.length > 0 && left === 0) {
        const times = /^\d{1,9}$/.test(attributes.c ?? "") ? Number(attributes.c) : 1;
        open.at(-1).push(breaks[name].repeat(Math.min(times, MOST_SPACES)));
      }
    },
    end(name) {
      if (unread.has(name)) left--;
      if (words.has(name)) inWords--;
      if (paragraphs.has(name)) open.pop();
    },
    text(data) {
      if (inWords > 0 && left === 0 && open.length > 0) open.at(-1).push(data);
    },
  });
  return [outer, inner].map(joined).filter((words) => words !== "").join("\n\n");
}

/** Paragraphs as a text. Where the writer set empty ones between most, these are the blank lines; else each has one after it. */
function joined(paragraphs) {
  const texts = paragraphs.map((pieces) => pieces.join("").trimEnd());
  const full = texts.filter((text) => text !== "");
  const spaced = 2 * (texts.length - full.length) > full.length - 1;
  return (spaced ? texts.join("\n") : full.join("\n\n")).trim();
}

/** The words of a book's chapters, in the order in which they are read, and what of them is missing; not its table of contents. */
export async function wordsOfBook(bytes, directory, budget) {
  const part = async (name) => decodedXml(await member(bytes, directory, name, budget));
  const [listing = ""] = values(await part("META-INF/container.xml"), "rootfile", ["full-path"]).map(([path]) => path);
  const contents = await part(listing);
  const items = values(contents, "item", ["id", "href", "properties"]);
  const places = new Map(items.map(([name, place, kinds]) => [name, kinds.split(/\s+/).includes("nav") ? "" : place]));
  const names = values(contents, "itemref", ["idref"]).map(([name]) => name);
  const spine = new Set(names.map((name) => places.get(name)).filter(Boolean).map((place) => resolved(listing, place)));
  const [chapters, left] = [[], names.filter((name) => !places.has(name))];
  let length = 0;
  for (const place of spine) {
    const page = directory.has(place) ? await member(bytes, directory, place, budget) : left.push(place) && null;
    if (page === null) continue;
    const words = wordsOf(decoded(page), true);
    length += words.length;
    sound(length <= WORDS, "large", `it has more than ${WORDS} characters`);
    chapters.push(words);
  }
  return { text: chapters.filter((words) => words !== "").join("\n\n"), left };
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
