/**
 * The words that a page shows, in blocks (paragraphs, headings, items), each with the places that its words have in the
 * document.
 */

/** Elements whose words nobody reads as text. */
const SILENT =
  "script, style, noscript, template, svg, math, canvas, button, select, textarea, iframe, object, audio, video, " +
  "[aria-hidden='true']";
/** Elements that are beside the text of a page. */
const BESIDE =
  "nav, aside, footer, form, dialog, [role='navigation'], [role='banner'], [role='complementary'], [role='contentinfo']";
/** Elements before and after which a text has an empty line. */
const PARAGRAPHS = new Set("P H1 H2 H3 H4 H5 H6 BLOCKQUOTE PRE".split(" "));
const WORDS = /[ \t\n\r\f]+|[^ \t\n\r\f]+/g;

/** What is remembered of elements, so that each is asked once. */
class Elements {
  constructor() {
    this.facts = new Map();
  }

  /** The block that an element belongs to, and whether its words are shown, beside the text, in a table, in a link, kept as typed. */
  of(element) {
    const known = this.facts.get(element);
    if (known) return known;
    const above = element.parentElement ? this.of(element.parentElement) : { block: element };
    const { display, whiteSpace } = getComputedStyle(element);
    const found = {
      block: /^(inline|contents|ruby|none)/.test(display) ? above.block : element,
      silent: above.silent || display === "none" || element.matches(SILENT),
      beside: above.beside || element.matches(BESIDE),
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
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  const blocks = [];
  let [current, owner] = [null, null];
  for (let node = walker.currentNode; node; node = walker.nextNode()) {
    if (node.nodeType === Node.ELEMENT_NODE) elements.of(node); // from above, so that none asks far upwards
    if (node.nodeName === "BR" && current) put(current, "\n", node, 0);
    if (node.nodeType !== Node.TEXT_NODE || !node.parentElement) continue;
    if ((range && !range.intersectsNode(node)) || !elements.shows(node.parentElement)) continue;
    const { block, link, beside, cell, typed } = elements.of(node.parentElement);
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
