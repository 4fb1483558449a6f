/**
 * Documents that are XML, most of them in a zip: DOCX and PPTX, OpenDocument, EPUB, FB2. What was deleted, what nobody sees,
 * and what comments say are not read.
 */
import { toBinary } from "./binary.js";
import { WORDS } from "./budget.js";
import { decoded, wideByMark, wordsOf } from "./html.js";
import { KINDS } from "./kinds.js";
import { parse } from "./markup.js";
import { isTold, others } from "./prose.js";
import { DocumentRefused, sound } from "./refused.js";
import { member } from "./zip.js";

const TYPES = "[Content_Types].xml";
const RELATED = /^word\/_rels\/[^/]*\.xml\.rels$/;

/** Spaces that one element of OpenDocument may stand for. */
const MOST_SPACES = 100;
/** Values by which Word says that a property does not hold. */
const OFF = ["0", "false", "off"];
/** Types of cells of Excel that have words themselves. */
const WORDS_IN_CELLS = ["str", "inlineStr"];
/** Stands in an object that shows a formula, of which a paper has hundreds. */
const FORMULA = [..."Equation Native"].map((letter) => `${letter}\0`).join("");
const PART_NAME = /^[^>]*?\bpkg:name\s*=\s*["']\/([^"'<>]*)["']/;
const PAGE = "application/xhtml+xml";
const OTHER_PAGE = /^(?!META-INF\/)[^]*\.(?:x?html?|svg|xml)$/i;
/** What is no chapter, though some books have it as one. */
const PICTURE = /^image\/(?!svg)/;
const ENCRYPTED = "META-INF/encryption.xml";

/**
 * How a kind of XML holds words, elements by their local names: `parts`, the parts that have words, where it is packed;
 * `types`, what an Office document says of such parts, whatever their names are;
 * `files`, the documents in it whose words are a part of its text; `others`, the parts whose long texts are texts of their
 * own, as comments and masters of slides; `holds`, what stands in each part that has words; `paragraphs`; `words`, whose text is words; `breaks`, what stands for an empty
 * element; `beside`, whose text, where it is long, is a text of its own, as long attributes of any are; `unread`, what is
 * left out.
 */
export const DIALECTS = Object.fromEntries(
  Object.entries(KINDS).filter(([, row]) => row.dialect).map(([name, row]) => [name, dialect(KINDS[row.dialect]?.dialect ?? row.dialect)]),
);

function dialect({ parts = "(?!)", types = "(?!)", files = "(?!)", others = "(?!)", holds = "", breaks, beside = "", unread = "", ...names }) {
  const sets = Object.entries({ beside, unread, ...names }).map(([name, elements]) => [name, new Set(elements.split(" "))]);
  const patterns = Object.entries({ parts, types, files, others }).map(([name, pattern]) => [name, new RegExp(`^(?:${pattern})$`)]);
  return { breaks, holds: new RegExp(holds), ...Object.fromEntries([...patterns, ...sets]) };
}

/** The words of a document that is one file of XML, and the name of its other long texts: `{text, left}`. */
export const wordsOfFlat = (bytes, dialect) => told([wordsOfXml(decodedXml(bytes), dialect)]);

/** The words of some parts, and the name of their other texts that are long: `{text, left}`. */
function told(parts) {
  const text = parts.map(([words]) => words).filter((words) => words !== "").join("\n\n");
  return { text, left: others(parts.flatMap(([, beside]) => beside.filter(isTold)), () => [text]) };
}

/** The same of a document of Office that is one file of XML, with its parts in it or, of old ones, without. */
export function wordsOfFlatOffice(bytes) {
  const xml = decodedXml(bytes);
  const parts = new Map();
  for (const piece of xml.split("<pkg:part ").slice(1)) {
    const [name, start, end] = [PART_NAME.exec(piece), piece.indexOf("<pkg:xmlData"), piece.lastIndexOf("</pkg:xmlData>")];
    if (name && start >= 0 && start < end) parts.set(name[1], `${piece.slice(start, end)}</pkg:xmlData>`);
  }
  if (parts.size === 0) return told([wordsOfXml(xml, DIALECTS.docx)]);
  const all = [DIALECTS.docx, DIALECTS.pptx].flatMap((dialect) => {
    const read = [...parts.keys()].filter((each) => dialect.parts.test(each)).sort((a, b) => inOrder(a, b));
    const beside = [...parts.keys()].filter((each) => dialect.others.test(each) && !read.includes(each));
    const of = (names) => names.map((name) => wordsOfXml(parts.get(name), dialect));
    return [...of(read), ...of(beside).map(([words, more]) => ["", [words, ...more]])];
  });
  return told(all);
}

/**
 * The words of a document in a zip: `{text, chunks, left}`, where `chunks` are files whose words are a part of its text, and
 * `left` names what is not read and the other long texts.
 */
export async function wordsOfOffice(bytes, directory, budget, dialect) {
  const parts = [];
  const types = await typesOf(bytes, directory, budget);
  const names = [...directory.keys()].filter((each) => dialect.parts.test(each) || dialect.types.test(types.get(each) ?? ""));
  const wordsIn = async (name) => wordsOfXml(decodedXml(await member(bytes, directory, name, budget)), dialect);
  for (const name of names.sort((a, b) => inOrder(a, b, types))) parts.push(await wordsIn(name));
  const [chunks, left] = [[], []];
  for (const name of [...directory.keys()].filter((each) => dialect.others.test(each) && !names.includes(each)).sort()) {
    try {
      const [words, more] = await wordsIn(name);
      parts.push(["", [words, ...more]]);
    } catch (error) {
      if (!(error instanceof DocumentRefused)) throw error;
      left.push(name);
    }
  }
  const inside = [...directory.keys()].filter((each) => dialect.files.test(each)).sort();
  for (const name of new Set([...(await chunksOf(bytes, directory, budget)), ...inside])) {
    try {
      const chunk = await member(bytes, directory, name, budget);
      if (!toBinary(chunk).includes(FORMULA)) chunks.push([name, chunk]);
    } catch (error) {
      if (!(error instanceof DocumentRefused)) throw error;
      left.push(name);
    }
  }
  const found = told(parts);
  return { text: found.text, chunks, left: [...left, ...found.left] };
}

/** What an Office document says that its parts are. */
async function typesOf(bytes, directory, budget) {
  if (!directory.has(TYPES)) return new Map();
  const said = values(decodedXml(await member(bytes, directory, TYPES, budget)), "Override", ["PartName", "ContentType"]);
  return new Map(said.map(([name, type]) => [unquoted(name).replace(/^\//, ""), type]));
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

/** The body first, then diagrams and charts, notes, heads and feet of pages; slides by their numbers. */
function inOrder(a, b, types = new Map()) {
  const number = (name) => Number(/\d+/.exec(name)?.[0] ?? 0);
  const [ofA, ofB] = [a, b].map((name) => `${name} ${types.get(name)}`);
  const last = (parts) => parts.test(ofA) - parts.test(ofB);
  return last(/header|footer/) || last(/notes/) || last(/diagram|chart/) || number(a) - number(b) || (a < b ? -1 : 1);
}

function decodedXml(bytes) {
  try {
    return new TextDecoder(wideByMark(bytes) ?? "utf-8", { fatal: true }).decode(bytes);
  } catch {
    return sound(false, "broken", "a part of it is broken: it is no text");
  }
}

/**
 * Follows which elements are left out: by their names, or since nobody sees them. Word says of a run that it is not seen,
 * OpenDocument says it of an element, or of a style that is defined before. Most cells of Excel have numbers.
 */
class Unread {
  /** How many of the open elements are left out. */
  around = 0;
  #open = [];
  #runs = []; // their places among the open elements
  #style = "";
  #unseen = new Set(); // styles

  constructor(names, cells) {
    this.names = names;
    this.cells = cells;
  }

  start(name, attributes) {
    const hidden = attributes.display === "none";
    const ofNumbers = this.cells && name === "c" && !WORDS_IN_CELLS.includes(attributes.t);
    this.#open.push(hidden || ofNumbers || this.names.has(name) || this.#unseen.has(attributes["style-name"]));
    this.around += this.#open.at(-1);
    if (name === "r") this.#runs.push(this.#open.length - 1);
    else if (name === "vanish" && this.#runs.length > 0 && this.around === 0 && !OFF.includes(attributes.val)) {
      this.#open[this.#runs.at(-1)] = true;
      this.around++;
    } else if (name === "style") this.#style = attributes.name ?? "";
    else if (name === "text-properties" && hidden) this.#unseen.add(this.#style);
  }

  end(name) {
    this.around -= this.#open.pop();
    if (name === "r") this.#runs.pop();
  }
}

/** The words of one part, those of notes and boxes, which are paragraphs inside others, last; and texts that stand beside them. */
function wordsOfXml(xml, { holds, paragraphs, words, breaks, beside, unread: names }) {
  if (!holds.test(xml)) return ["", []];
  const [outer, inner, open, apart, long] = [[], [], [], [], []];
  const unread = new Unread(names, paragraphs.has("c"));
  let [inWords, aside] = [0, 0];
  const begun = (name) => {
    if (unread.around > 0) return [];
    if (aside > 0) return open.at(-1).push("\n") && open.at(-1);
    const pieces = [];
    (beside.has(name) ? apart : open.length > 0 ? inner : outer).push(pieces);
    return pieces;
  };
  parse(xml, {
    start(name, attributes) {
      unread.start(name, attributes);
      if (words.has(name)) inWords++;
      if (beside.has(name) || paragraphs.has(name)) open.push(begun(name));
      else if (Object.hasOwn(breaks, name) && open.length > 0 && unread.around === 0) {
        const times = /^\d{1,9}$/.test(attributes.c ?? "") ? Number(attributes.c) : 1;
        open.at(-1).push(breaks[name].repeat(Math.min(times, MOST_SPACES)));
      }
      if (beside.has(name)) aside++;
      if (unread.around === 0) long.push(...Object.values(attributes).filter(isTold));
    },
    end(name) {
      unread.end(name);
      if (words.has(name)) inWords--;
      if (beside.has(name)) aside--;
      if (beside.has(name) || paragraphs.has(name)) open.pop();
    },
    text(data) {
      if (inWords + aside > 0 && unread.around === 0 && open.length > 0) open.at(-1).push(data);
    },
  });
  const text = [outer, inner].map(joined).filter((words) => words !== "").join("\n\n");
  return [text, [...apart.map((pieces) => pieces.join("").trim()), ...long]];
}

/** Paragraphs as a text. Where the writer set empty ones between most, these are the blank lines; else each has one after it. */
function joined(paragraphs) {
  const texts = paragraphs.map((pieces) => pieces.join("").trimEnd());
  const full = texts.filter((text) => text !== "");
  const spaced = 2 * (texts.length - full.length) > full.length - 1;
  return (spaced ? texts.join("\n") : full.join("\n\n")).trim();
}

/**
 * The words of a book's chapters, in the order in which they are read, and what of them is missing. Chapters to which only
 * links lead come last; tables of contents are not read. Long texts in other pages and drawings are named.
 */
export async function wordsOfBook(bytes, directory, budget) {
  const part = async (name) => decodedXml(await member(bytes, directory, name, budget));
  const [listing = ""] = values(await part("META-INF/container.xml"), "rootfile", ["full-path"]).map(([path]) => path);
  const contents = await part(listing);
  const items = new Map(values(contents, "item", ["id", "href", "properties", "media-type"]).map(([name, ...rest]) => [name, rest]));
  const names = values(contents, "itemref", ["idref"]).map(([name]) => name);
  for (const [name, [, properties, media]] of items) if (media === PAGE && !properties.includes("nav")) names.push(name);
  const spine = names.map((name) => items.get(name)).filter((item) => item?.[0]);
  const encrypted = directory.has(ENCRYPTED) ? values(await part(ENCRYPTED), "CipherReference", ["URI"]) : [];
  const locked = new Set(encrypted.map(([place]) => resolved("", place)));
  const [chapters, beside, left] = [[], [], names.filter((name) => !items.has(name))];
  const listed = new Map(spine.map(([place, ...rest]) => [resolved(listing, place), rest]));
  const apart = [...directory.keys()].filter((name) => OTHER_PAGE.test(name) && !listed.has(name));
  let length = 0;
  for (const [place, [properties, media]] of [...listed, ...apart.map((name) => [name, ["nav", ""]])]) {
    const page = directory.has(place) && !locked.has(place) && !PICTURE.test(media) ? await member(bytes, directory, place, budget) : left.push(place) && null;
    if (page === null) continue;
    const words = wordsOf(decoded(page), true, { contents: !properties.split(/\s+/).includes("nav") });
    length += words.length;
    sound(length <= WORDS, "large", `it has more than ${WORDS} characters`);
    (listed.has(place) ? chapters : beside).push(words);
  }
  const text = chapters.filter((words) => words !== "").join("\n\n");
  return { text, left: [...left, ...others(beside.filter(isTold), () => [text])] };
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
