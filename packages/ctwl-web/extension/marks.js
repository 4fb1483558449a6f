/** Passages marked on the page: by the browser's highlights, or in elements where it has none. */

export const HIGHLIGHT = "ctwl-passage";

/** The ranges of the document that have a stretch of a text, one for each text node. */
export function rangesOf(pieces, start, end) {
  const parts = [];
  for (const { at, length, node, from } of pieces) {
    const [first, behind] = [Math.max(start, at), Math.min(end, at + length)];
    if (first >= behind || node.nodeType !== Node.TEXT_NODE) continue;
    const [begin, stop] = [from + first - at, from + behind - at];
    if (parts.at(-1)?.node === node) parts.at(-1).stop = stop;
    else parts.push({ node, begin, stop });
  }
  return parts.filter(({ node, stop }) => node.isConnected && stop <= node.data.length).map(({ node, begin, stop }) => {
    const range = document.createRange();
    range.setStart(node, begin);
    range.setEnd(node, stop);
    return range;
  });
}

/** Marks ranges; returns what takes the marks away. */
export function mark(ranges) {
  if (globalThis.CSS?.highlights && globalThis.Highlight) {
    CSS.highlights.set(HIGHLIGHT, new Highlight(...ranges));
    return () => CSS.highlights.delete(HIGHLIGHT);
  }
  const wrapped = ranges.map((range) => {
    const found = document.createElement("mark");
    found.className = HIGHLIGHT;
    range.surroundContents(found); // of one text node, so it cannot be cut in two
    return found;
  });
  return () => {
    for (const each of wrapped) {
      const parent = each.parentNode;
      each.replaceWith(...each.childNodes);
      parent?.normalize();
    }
  };
}
