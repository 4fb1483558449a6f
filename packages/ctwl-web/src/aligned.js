/** Aligned texts: each character knows its place in the text as given, so that passages can point there. */
import { MAX_MARKS, normalizeWithin, pilesMarks, withoutEnds } from "./normalization.js";
import { pointsOf, TEXT } from "./numbers.js";
import { require } from "./refusal.js";

const DELETED = new RegExp(`[${pointsOf(TEXT.deleted)}]+`, "gu");
/** Pieces that normalization may change otherwise. No ASCII character combines with one before it, but in a line end. */
const CHANGED = new RegExp(`\\r[\\n${pointsOf(TEXT.line_ends)}]|[\\x00-\\x7f]?[^\\x00-\\x7f]+|\\r`, "gu");

/** A text that was made from another one: `source` has the place of each of its characters, and of its end, there. */
export class AlignedText {
  constructor(text, source) {
    this.text = text;
    this.source = source;
  }

  /** A text as it was given. */
  static of(text) {
    return new AlignedText(text, Uint32Array.from({ length: text.length + 1 }, (_, i) => i));
  }

  /** This text with some parts replaced: `[start, end, string]` each, ascending, none overlapping. */
  edited(edits) {
    if (edits.length === 0) return this;
    const [texts, places] = [[], []];
    let done = 0;
    for (const [start, end, put] of edits) {
      texts.push(this.text.slice(done, start), put);
      for (let i = done; i < start; i++) places.push(this.source[i]);
      for (let i = 0; i < put.length; i++) places.push(this.source[start + Math.floor((i * (end - start)) / put.length)]);
      done = end;
    }
    texts.push(this.text.slice(done));
    for (let i = done; i < this.source.length; i++) places.push(this.source[i]);
    return new AlignedText(texts.join(""), Uint32Array.from(places));
  }

  /** `ctwl-n1` (5.1); refused as `not-text` where marks are piled higher than any script does. */
  normalized() {
    // What nobody sees goes first, so that a run of it moves no place of the characters around it.
    const seen = this.edited(Array.from(this.text.matchAll(DELETED), ({ 0: run, index }) => [index, index + run.length, ""]));
    const edits = [];
    for (const { 0: piece, index } of seen.text.matchAll(CHANGED)) {
      const piles = piece.length > MAX_MARKS && pilesMarks(piece);
      require(!piles, "not-text", `the text piles more than ${MAX_MARKS} combining marks on one letter; no script does`);
      const normal = normalizeWithin(piece);
      if (normal !== piece) edits.push([index, index + piece.length, normal]);
    }
    const found = seen.edited(edits);
    const [first, behind] = withoutEnds(found.text);
    return new AlignedText(found.text.slice(first, behind), found.source.subarray(first, behind + 1));
  }
}
