/** HTML: the words that a browser shows, with the breaks between them that the elements ask for. */
import { BLANK, wordsApart } from "../characters.js";
import { unescape } from "../references.js";
import { fromBinary, toBinary } from "./binary.js";
import TABLES from "./tables.json" with { type: "json" };

const words = (names) => new Set(names.split(" "));
const [BLOCKS, PARAGRAPHS, UNSEEN, VOID] = ["blocks", "paragraphs", "unseen", "void"].map((name) => words(TABLES.elements[name]));
/** Elements whose end may be left out, and what then ends them: an element that begins, or `/` one that ends. */
const ENDS = new Map(Object.entries(TABLES.ends).map(([name, by]) => [name, words(by)]));
/** Elements that are seen though they are in one that is not: words of drawings and of formulas. */
const SEEN = new Map(Object.entries(TABLES.seen).map(([name, inside]) => [name, words(inside)]));
/** Elements of drawings whose text is for use elsewhere, or for programs that do not show what stands before it. */
const ASIDE = ["defs", "switch"];
/** Elements in which another such element may be open. */
const NESTING = ["ul", "ol", "dl", "table"];
const SPACE_FIRST = new RegExp(`^${BLANK}`);
/** Ends the attributes of an element without content, where XML is spoken. */
const ALONE = /(?:^|[\s"'])\/$/;
/** Elements of a page of HTML that may end so. */
const ALONE_TOO = new Set([...SEEN].flatMap(([name, inside]) => [name, ...inside]));
/** Elements whose content has no tags. */
const RAW = words("script style");
const HIDDEN = /\shidden(?=[\s=\/]|$)/i;
const [ID, STYLE, HOW_HIDDEN, SRCDOC, SRC] = ["id", "style", "hidden", "srcdoc", "(?:src|data)"].map(
  (name) => new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, "i"),
);
/** How words are hidden that a browser shows to whoever searches for them. */
const FOUND = "until-found";
/** A template with it is the inside of the element around it, which is seen. */
const SHADOW = /\sshadowroot(?:mode)?\s*=/i;
const NO_PLACE = /display\s*:\s*none/i;
const UNSEEN_STYLE = /visibility\s*:\s*hidden/i;
/** What a script calls a function with, or finds in a page, such as the name of an element that it shows. */
const ARGUMENT = /(?:[(,]\s*|\sdata-sid=)["']#?([^"'\s]{1,80})["']/g;
/** What a hidden element has that is shown: by Marko's script, which finds it by a name, or as a note of a book. */
const SHOWN_LATER = new Map([["t", "="], ["aside", "epub:type"]]);
/** Whether words of a drawing begin at a place of their own, as those of a line do. */
const PLACED = /\s(?:x|y|dy)\s*=/i;
const FRAMED = words("iframe frame object embed img");
/** The address of a page or a drawing that is that itself. */
const PAGE = /^\s*data:(?:text\/(?:html|plain)|application\/xhtml\+xml|image\/svg\+xml)([^,]*),([^]*)/i;
const CODE = /%([0-9a-f]{2})/gi;
/** Begins words of XML in which no sign has another meaning. */
const LITERAL = "<![CDATA[";
/** Pages inside each other whose words are read. */
const FRAMES = 3;
const VALUES = /"[^"]*"|'[^']*'/g;
const TAG = /<(\/?)([a-z][^\s\/>]*)/iy;
/** What may stand before the end of a tag and hold its sign, or the end. */
const TAG_END = /=\s*"[^"]*"|=\s*'[^']*'|>/g;
const REFERENCE = /&(?:#\d{1,7};?|#x[0-9a-f]{1,6};?|[a-z][a-z0-9]{1,31};?)/gi;
const CHARSET = /<(?:meta[^>]{0,200}?charset|\?xml[^>]{0,100}?encoding)\s*=\s*["']?([a-z0-9_:-]{1,40})/i;
const SEVERAL_BYTES = /^(?:utf-16|gb|big5|euc|shift|iso-2022)/;
const NOT_ASCII = /[^\0-\x7f]+/g;
const BREAKS = ["", " ", "\n", "\n\n"];

/** Characters for the references that stand for them. */
export const plain = (text) => text.replace(REFERENCE, (whole) => unescape(whole));

function valueOf(attribute, attributes) {
  return attribute.exec(attributes)?.slice(1).find(Boolean) ?? "";
}

/** Collects the words of a page. */
class Words {
  constructor(page, contents) {
    this.pieces = [];
    this.contents = contents;
    this.page = page;
    this.called = null;
    this.wanted = 0;
    this.unseen = null;
    this.hidden = false; // whether it is not seen by an attribute or as a template, which a script may change
    this.inside = new Map(); // how many elements of a name are open in the one that is not seen
    this.around = []; // the same of drawings and formulas whose words are seen
    this.kept = 0; // open elements whose white space is kept
  }

  /** Whether a script may show what stands here and is not seen. */
  get hides() {
    return this.unseen !== null && this.hidden;
  }

  open(tag, attributes, alone) {
    if (ENDS.get(this.unseen)?.has(tag) && !this.isIn(NESTING)) this.unseen = null;
    if (SEEN.get(this.unseen)?.has(tag) && !alone && !(tag === "text" && this.isIn(ASIDE))) {
      this.around.push([this.unseen, tag, this.inside]);
      [this.unseen, this.inside] = [null, new Map()];
      return this.askAround(tag);
    }
    if (this.unseen) {
      if (!alone) this.inside.set(tag, (this.inside.get(tag) ?? 0) + 1);
      return;
    }
    if (!alone && this.isUnseen(tag, attributes)) {
      this.unseen = tag;
      this.hidden = !UNSEEN.has(tag) || tag === "template";
      this.inside.clear();
    } else if (tag === "pre") this.kept++;
    this.ask(tag);
    if (tag === "tspan" && PLACED.test(attributes)) this.askAround(tag);
  }

  close(tag) {
    if (!this.unseen && this.around.at(-1)?.includes(tag)) {
      const [outer, seen, inside] = this.around.pop();
      [this.unseen, this.inside] = [outer, inside];
      this.askAround(seen);
      if (tag === seen) return;
    }
    if (this.unseen) {
      const open = this.inside.get(tag) ?? 0;
      if (open > 0) {
        this.inside.set(tag, open - 1);
        return;
      }
      const [ended, ends] = [tag === this.unseen, ENDS.get(this.unseen)];
      const parent = ends?.has(`/${tag}`) || (ends && BLOCKS.has(tag));
      if (ended || parent) this.unseen = null;
      if (ended || !parent) return;
    }
    if (tag === "pre") this.kept = Math.max(0, this.kept - 1);
    this.ask(tag);
  }

  /**
   * Whether nobody sees an element. A script shows what is hidden and has an id that is the argument of a call. It also
   * shows a page that is hidden as a whole, and an element that has an id and keeps its place while it is not seen. KaTeX
   * has each formula a second time, for those who listen.
   */
  isUnseen(tag, attributes) {
    if ((UNSEEN.has(tag) && tag !== "template") || (tag === "nav" && !this.contents)) return true;
    if (attributes === "" || tag === "html" || tag === "body") return tag === "template";
    const [style, named] = [valueOf(STYLE, attributes), valueOf(ID, attributes)];
    if (tag === "template") return !SHADOW.test(attributes) && !this.isArgument(named);
    if (NO_PLACE.test(style) || HIDDEN.test(attributes.replace(VALUES, ""))) {
      const isShown = SHOWN_LATER.has(tag) && attributes.includes(SHOWN_LATER.get(tag));
      const isFound = valueOf(HOW_HIDDEN, attributes).toLowerCase() === FOUND;
      return !(isShown || isFound || this.isArgument(named));
    }
    return named === "" && (UNSEEN_STYLE.test(style) || attributes.includes("katex-mathml"));
  }

  /** Whether one of some elements is open in the one that is not seen. */
  isIn(names) {
    return names.some((name) => this.inside.get(name));
  }

  isArgument(name) {
    this.called ??= new Set(Array.from(this.page.matchAll(ARGUMENT), ([, argument]) => argument));
    return this.called.has(name);
  }

  /** The words of a page in the page. */
  frame(words) {
    if (this.unseen || words === "") return;
    this.ask("p");
    this.write(words);
    this.ask("p");
  }

  ask(tag) {
    this.wanted = Math.max(this.wanted, PARAGRAPHS.has(tag) ? 3 : BLOCKS.has(tag) ? 2 : 0);
  }

  /** Words of a drawing are a paragraph; lines of these, and words of a formula, are words apart. */
  askAround(tag) {
    this.wanted = Math.max(this.wanted, tag === "tspan" || tag === "mtext" ? 1 : 3);
  }

  text(data) {
    if (this.unseen || data === "") return;
    if (this.kept) return this.write(plain(data));
    const given = plain(data);
    const found = wordsApart(given);
    if (found.length === 0 || SPACE_FIRST.test(given)) this.wanted = Math.max(this.wanted, 1);
    if (found.length === 0) return;
    this.write(found.join(" "));
    this.wanted = Number(SPACE_FIRST.test(given.at(-1)));
  }

  write(words) {
    if (this.pieces.length > 0) this.pieces.push(BREAKS[this.wanted]);
    this.pieces.push(words);
    this.wanted = 0;
  }
}

/** The page that the element of a frame holds itself. */
function pageIn(attributes) {
  const inner = plain(valueOf(SRCDOC, attributes));
  if (inner !== "") return inner;
  const [, kind, address] = PAGE.exec(plain(valueOf(SRC, attributes))) ?? [];
  if (address === undefined) return "";
  const data = toBinary(new TextEncoder().encode(address)).replace(CODE, (_, code) => String.fromCharCode(parseInt(code, 16)));
  try {
    return decoded(fromBinary(/;base64$/i.test(kind) ? atob(data) : data));
  } catch {
    return ""; // browsers do not show it either
  }
}

/** The words of a page, or of a part of one; see {@link readPage}. */
export const wordsOf = (page, xml, more) => readPage(page, xml, more)[0];

/**
 * The words of a page, or of a part of one, and the parts of it that are hidden, which a script may show. What a browser
 * drops, such as a tag without an end, is dropped.
 *
 * @param xml whether it is XHTML, as in books, though it does not say so; there any element may end where it begins
 * @param more `frames`, how many pages inside each other are read; `contents`, whether tables of contents are
 */
export function readPage(page, xml = page.startsWith("<?xml"), { frames = FRAMES, contents = true } = {}) {
  const found = new Words(page, contents);
  const edges = []; // where what is hidden begins and ends
  let [done, at] = [0, 0];
  for (let next = page.indexOf("<"); next >= 0; next = page.indexOf("<", at)) {
    TAG.lastIndex = next;
    const tag = TAG.exec(page);
    const sign = page[next + 1];
    if (!tag && sign !== "!" && sign !== "?") {
      at = next + 1; // it stands for itself
      continue;
    }
    found.text(page.slice(done, next));
    if (!tag) {
      const literal = xml && page.startsWith(LITERAL, next);
      at = past(page, literal ? /]]>/g : page.startsWith("<!--", next) ? /-->/g : />/g, next + 2);
      if (literal) found.text(page.slice(next + LITERAL.length, at).replace(/]]>$/, "").replaceAll("&", "&amp;"));
    } else {
      const [start, closing, written] = tag;
      const name = written.toLowerCase();
      at = past(page, TAG_END, next + start.length);
      const attributes = page.slice(next + start.length, at - 1);
      const alone = VOID.has(name) || ((xml || ALONE_TOO.has(name)) && ALONE.test(attributes));
      if (closing) found.close(name);
      else if (RAW.has(name) && !alone) at = past(page, TAG_END, past(page, new RegExp(`</${name}`, "gi"), at));
      else {
        const inner = FRAMED.has(name) && frames > 0 ? pageIn(attributes) : "";
        if (inner !== "") found.frame(wordsOf(inner, undefined, { frames: frames - 1 }));
        found.open(name, attributes, alone);
      }
      if (found.hides !== (edges.length % 2 === 1)) edges.push(found.hides ? at : next);
    }
    done = at;
  }
  found.text(page.slice(done));
  const hidden = edges.flatMap((edge, i) => (i % 2 === 0 ? [page.slice(edge, edges[i + 1])] : []));
  return [found.pieces.join("").trim(), hidden];
}

/** The place after the next match of a pattern; of the end of a tag, after its values. The page's end where none is. */
function past(page, pattern, from) {
  pattern.lastIndex = from;
  for (let found = pattern.exec(page); found; found = pattern.exec(page)) {
    if (found[0][0] !== "=") return pattern.lastIndex;
  }
  return page.length;
}

/**
 * The characters of a page, by `charset`, which its mail names, else by what it says itself. What is UTF-8 but for a few
 * bytes is UTF-8, unless a charset with several bytes a character is named and fits better: one with a single byte fits
 * anything.
 */
export function decoded(bytes, charset = null) {
  const wide = wideByMark(bytes);
  if (wide) return new TextDecoder(wide).decode(bytes);
  const label = charset ?? CHARSET.exec(new TextDecoder("latin1").decode(bytes.subarray(0, 2048)))?.[1] ?? "utf-8";
  const decoder = decoderOf(label);
  const text = new TextDecoder().decode(bytes);
  const wrong = wrongIn(text);
  const others = Array.from(text.matchAll(NOT_ASCII), ([run]) => Array.from(run).length).reduce((a, b) => a + b, 0) - wrong;
  if (!SEVERAL_BYTES.test(decoder.encoding) || (charset === null && decoder.encoding.startsWith("utf-16"))) {
    if (others > wrong || wrong === 0) return text;
    return (decoder.encoding === "utf-8" ? new TextDecoder("windows-1252") : decoder).decode(bytes);
  }
  const labelled = decoder.decode(bytes);
  const surer = wrong - wrongIn(labelled) || (charset === null ? -others : 0);
  return surer >= 0 ? labelled : text;
}

/** The charset of a text that its first two bytes name; null for any other. */
export function wideByMark([first, second]) {
  return first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : null;
}

/** The decoder of a label; that of UTF-8 for one that is unknown. */
function decoderOf(label) {
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder();
  }
}

/** How often bytes are not of the charset by which a text was read. */
const wrongIn = (text) => text.split("\ufffd").length - 1;
