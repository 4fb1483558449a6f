/**
 * The words that a page shows, in blocks (paragraphs, headings, items), each with the places that its words have in the
 * document.
 */

/** Elements whose words nobody reads as text: of drawings and formulas some are words. */
const SILENT =
  "script, style, noscript, template, canvas, button, select, textarea, object, audio, video, rt, rp, " +
  "svg :is(defs, desc, title), mi, mn, mo, ms";
/** A sign beside words is hidden from those who listen; so is a whole text while a dialog is before it. */
const SIGN = "[aria-hidden='true']";
const TEXTS = "p, article, main";
/** Elements that are beside the text of a page. */
const BESIDE =
  "nav, aside, footer, form, dialog, [role='navigation'], [role='banner'], [role='complementary'], [role='contentinfo']";
/** Elements before and after which a text has an empty line. */
const PARAGRAPHS = new Set("P H1 H2 H3 H4 H5 H6 BLOCKQUOTE PRE".split(" "));
const WORDS = /[ \t\n\r\f]+|[^ \t\n\r\f]+/g;

/** What is inside of a node as it is shown: in shadow roots that are open, in their slots, in frames of the same site. */
function insideOf(node) {
  if (node.nodeName === "IFRAME" || node.nodeName === "FRAME") return [node.contentDocument?.body].filter(Boolean);
  const slotted = node.nodeName === "SLOT" ? node.assignedNodes() : [];
  return slotted.length > 0 ? slotted : (node.shadowRoot ?? node).childNodes;
}

/** The element in which a node is shown. */
const parentOf = (node) =>
  node.assignedSlot ?? node.parentElement ?? node.getRootNode().host ?? node.ownerDocument.defaultView?.frameElement ?? null;

/** A node and all that is inside of it, in the order in which it is shown. */
function* all(root) {
  const waiting = [root];
  while (waiting.length > 0) {
    const node = waiting.pop();
    yield node;
    for (const inside of Array.from(insideOf(node)).reverse()) waiting.push(inside);
  }
}

/** Whether a range has something of a node, or of the element in whose shadow root or frame it is. */
function isIn(range, node) {
  let seen = node;
  while (seen && seen.getRootNode() !== range.startContainer.getRootNode()) {
    seen = seen.getRootNode().host ?? seen.ownerDocument.defaultView?.frameElement;
  }
  return Boolean(seen) && range.intersectsNode(seen);
}

const isSign = (element) => element.matches(SIGN) && !element.matches(TEXTS) && element.querySelector(TEXTS) === null;

/** Whether an element is beside the text of a page; a form that has most of the page is not. */
function isBeside(element) {
  if (!element.matches(BESIDE)) return false;
  return element.nodeName !== "FORM" || 2 * element.textContent.length < element.ownerDocument.body.textContent.length;
}

/** What is remembered of elements, so that each is asked once. */
class Elements {
  constructor() {
    this.facts = new Map();
  }

  /** The block that an element belongs to, and whether its words are shown, beside the text, in a table, in a link, kept as typed. */
  of(element) {
    const known = this.facts.get(element);
    if (known) return known;
    const parent = parentOf(element);
    const above = parent ? this.of(parent) : { block: element };
    const { display, whiteSpace } = getComputedStyle(element);
    const found = {
      block: /^(inline|contents|ruby|none)/.test(display) ? above.block : element,
      silent: above.silent || display === "none" || element.matches(SILENT) || isSign(element),
      beside: above.beside || isBeside(element),
      cell: above.cell || display === "table-cell",
      link: above.link || element.matches("a[href]"),
      typed: /pre|break-spaces/.test(whiteSpace),
    };
    this.facts.set(element, found);
    return found;
  }

  /** Whether the words right inside of an element are seen. */
  shows(element) {
    return !this.of(element).silent && element.checkVisibility({ visibilityProperty: true, checkVisibilityCSS: true });
  }
}

/**
 * The blocks of a part of the document: `{text, linked, beside, cell, paragraph, pieces}`, where a piece says that `length`
 * units of the block's text, from `at` on, are those of a text node from `from` on, and `linked` counts the characters
 * in links.
 *
 * @param root the node under which to look
 * @param range where given, only what is inside of it
 */
export function blocksOf(root, range = null) {
  const elements = new Elements();
  const blocks = [];
  let [current, owner] = [null, null];
  for (const node of all(root)) {
    if (node.nodeType === Node.ELEMENT_NODE) elements.of(node); // from above, so that none asks far upwards
    if (node.nodeName === "BR" && current) put(current, "\n", node, 0);
    const parent = node.nodeType === Node.TEXT_NODE ? parentOf(node) : null;
    if (!parent || (range && !isIn(range, node)) || !elements.shows(parent)) continue;
    const { block, link, beside, cell, typed } = elements.of(parent);
    if (block !== owner) {
      owner = block;
      current = { text: "", linked: 0, beside, cell, paragraph: PARAGRAPHS.has(block.nodeName), pieces: [] };
      blocks.push(current);
    }
    const from = range && node === range.startContainer ? range.startOffset : 0;
    const behind = range && node === range.endContainer ? range.endOffset : node.data.length;
    const before = current.text.length;
    const shown = node.data.slice(from, behind);
    if (typed) put(current, shown, node, from);
    else for (const { 0: word, index } of shown.matchAll(WORDS)) putWord(current, word, node, from + index);
    if (link) current.linked += current.text.length - before;
  }
  return blocks.filter(({ text }) => text.trim() !== "");
}

function put(block, text, node, from) {
  block.pieces.push({ at: block.text.length, length: text.length, node, from });
  block.text += text;
}

/** White space is shown as one space, and not at all where a line begins. */
function putWord(block, word, node, from) {
  if (!/^[ \t\n\r\f]/.test(word)) put(block, word, node, from);
  else if (block.text !== "" && !/[ \n]$/.test(block.text)) put(block, " ", node, from);
}

/** Blocks as one text with its pieces. */
export function joined(blocks) {
  const parts = [];
  const pieces = [];
  let [length, before] = [0, null];
  for (const block of blocks) {
    const gap = before === null ? "" : before.paragraph || block.paragraph ? "\n\n" : "\n";
    const text = block.text.trimEnd();
    for (const piece of block.pieces) if (piece.at < text.length) pieces.push({ ...piece, at: piece.at + length + gap.length });
    parts.push(gap, text);
    length += gap.length + text.length;
    before = block;
  }
  return { text: parts.join(""), pieces };
}
