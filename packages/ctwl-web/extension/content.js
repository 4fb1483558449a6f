/** In the page that is read: gives its text, and marks the passages that were found. The popup calls `globalThis.ctwl`. */
import { mainText } from "./article.js";
import { blocksOf, joined } from "./blocks.js";
import { mark, rangesOf } from "./marks.js";

let [pieces, ranges] = [[], []];

/** The words that are selected in a field, which has no ranges of the document. */
function inField() {
  const { value, selectionStart: from, selectionEnd: behind, type } = document.activeElement ?? {};
  return typeof value === "string" && type !== "password" && Number.isInteger(from) ? value.slice(from, behind) : "";
}

/** The selections of the document, and of the frames and the shadow roots in which its focus is. */
function selections(root) {
  const own = root.getSelection?.(); // Chromium's shadow roots have one
  const inner = root.activeElement?.contentDocument ?? root.activeElement?.shadowRoot;
  return [own, ...(inner ? selections(inner) : [])];
}

/** The selected text: `{text, pieces}`. */
function selected() {
  const field = inField();
  if (field !== "") return { text: field, pieces: [] };
  const ranges = selections(document).flatMap((selection) => Array.from({ length: selection?.rangeCount ?? 0 }, (_, i) => selection.getRangeAt(i)));
  return joined(ranges.filter((range) => !range.collapsed).flatMap((range) => blocksOf(range.commonAncestorContainer, range)));
}

/** The selected text or, where nothing is selected or the article is asked for, the main text of the page. */
function collect(article) {
  mark([]);
  const own = article ? { text: "", pieces: [] } : selected();
  const found = own.text.trim() !== "" ? own : joined(mainText(blocksOf(document.body)));
  pieces = found.pieces;
  return { text: found.text.toWellFormed(), source: found === own ? "selection" : "article" };
}

/** Marks passages `{start, end}`, counted in characters of the text; returns whether any is on the page. */
function markAll(text, spans) {
  const units = unitsOf(text);
  ranges = spans.flatMap(({ start, end }) => rangesOf(pieces, units(start), units(end)));
  mark(ranges);
  return ranges.length > 0;
}

/** A function from a place in characters to one in UTF-16 units. */
function unitsOf(text) {
  const starts = [];
  let at = 0;
  for (const character of text) {
    starts.push(at);
    at += character.length;
  }
  starts.push(at);
  return (place) => starts[place];
}

/** Moves the first passage into view. */
function show() {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  ranges[0]?.startContainer.parentElement?.scrollIntoView({ block: "center", behavior: still ? "auto" : "smooth" });
}

globalThis.ctwl = { collect, mark: markAll, clear: () => mark([]), show };
