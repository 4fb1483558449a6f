/** Passages marked on the page, by the browser's highlights. */

export const HIGHLIGHT = "ctwl-passage";

/** The ranges of the document that have a stretch of a text, one for each text node; what is in a frame has none. */
export function rangesOf(pieces, start, end) {
  const parts = [];
  for (const { at, length, node, from } of pieces) {
    const [first, behind] = [Math.max(start, at), Math.min(end, at + length)];
    if (first >= behind || node.nodeType !== Node.TEXT_NODE) continue;
    const [begin, stop] = [from + first - at, from + behind - at];
    if (parts.at(-1)?.node === node) parts.at(-1).stop = stop;
    else parts.push({ node, begin, stop });
  }
  return parts.filter(({ node, stop }) => node.isConnected && node.ownerDocument === document && stop <= node.data.length).map(({ node, begin, stop }) => {
    const range = document.createRange();
    range.setStart(node, begin);
    range.setEnd(node, stop);
    return range;
  });
}

/** Marks ranges, and nothing else. The document itself stays as it is. */
export function mark(ranges) {
  CSS.highlights.delete(HIGHLIGHT);
  if (ranges.length > 0) CSS.highlights.set(HIGHLIGHT, new Highlight(...ranges));
}
