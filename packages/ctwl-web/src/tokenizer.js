/** 5.2 Tokenizer: byte-level BPE as GPT-2 defined it. */
import { utf8 } from "./bytes.js";
import { SPLITTING } from "./numbers.js";
import { require } from "./refusal.js";

/** `\s` is the Unicode property, not JavaScript's own class, which differs from it in U+0085 and U+FEFF. */
const patternOf = (text) =>
  new RegExp(text.replaceAll("\\s", "\\p{White_Space}").replaceAll("\\S", "\\P{White_Space}"), "gu");

/** The patterns of the rules that were asked for: one that this engine cannot compile concerns its own profiles alone. */
const compiled = new Map();

/** A splitting rule: each pattern is applied to the pieces that the one before left. */
function patternsOf(rule) {
  if (!compiled.has(rule)) compiled.set(rule, SPLITTING.rules[rule].map((name) => patternOf(SPLITTING.patterns[name])));
  return compiled.get(rule);
}

/** GPT-2's alphabet: the character that stands for each byte. */
export const ALPHABET = (() => {
  const shown = (byte) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(shown(byte) ? byte : next++));
})();

/** The pieces of a text under a rule, in order; joined they are the text. */
export function split(text, rule) {
  let pieces = [text];
  for (const pattern of patternsOf(rule)) pieces = pieces.flatMap((piece) => cut(piece, pattern));
  return pieces;
}

/** Every match is a piece of its own; so is what lies between matches. */
function cut(text, pattern) {
  const pieces = [];
  let behind = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > behind) pieces.push(text.slice(behind, match.index));
    pieces.push(match[0]);
    behind = match.index + match[0].length;
  }
  if (behind < text.length) pieces.push(text.slice(behind));
  return pieces;
}

/** Two ids as one number. */
const pair = (left, right) => left * 2 ** 24 + right;

/** Pieces of at most so many bytes are kept with their tokens. */
const SHORT = 32;

/** A tokenizer of a vocabulary (a Map of token strings to ids) and merges, "a b" each, best first. */
export class Tokenizer {
  constructor(vocabulary, merges, rule) {
    this.merges = new Map();
    merges.forEach((merge, rank) => {
      const parts = merge.split(" ");
      const [left, right, joined] = [...parts, parts.join("")].map((token) => vocabulary.get(token));
      const known = parts.length === 2 && joined !== undefined && left !== undefined && right !== undefined;
      require(known, "proxy-malformed", "a merge joins two tokens to a third");
      const key = pair(left, right);
      if (!this.merges.has(key)) this.merges.set(key, { rank, joined });
    });
    this.bytes = ALPHABET.map((character) => vocabulary.get(character));
    this.rule = rule;
    this.known = new Map();
  }

  /**
   * The tokenizer of a list of merges that make all tokens but some, in the order of their ids.
   *
   * @param alone the other tokens, with their ids
   */
  static of(alone, merges, rule) {
    const vocabulary = new Map(Object.entries(alone));
    const taken = new Set(vocabulary.values());
    let next = 0;
    for (const merge of merges) {
      while (taken.has(next)) next++;
      vocabulary.set(merge.replace(" ", ""), next++);
    }
    return new Tokenizer(vocabulary, merges, rule);
  }

  /** The token ids of a normalized text. */
  encode(text) {
    return this.locate(text).ids;
  }

  /** The token ids of a normalized text, and where in it the character of each one's first byte is. */
  locate(text) {
    const [ids, starts] = [[], []];
    let at = 0;
    for (const piece of split(text, this.rule)) {
      const found = this.known.get(piece) ?? this.ofPiece(piece);
      for (let i = 0; i < found.length; i += 2) {
        ids.push(found[i]);
        starts.push(at + found[i + 1]);
      }
      at += piece.length;
    }
    return { ids, starts };
  }

  /** The tokens of a piece: id and place, in turn. */
  ofPiece(piece) {
    // A byte that has no token is left out before the merges.
    const [ids, places] = [[], []];
    let at = 0;
    for (const character of piece) {
      for (const byte of utf8(character)) {
        if (this.bytes[byte] === undefined) continue;
        ids.push(this.bytes[byte]);
        places.push(at);
      }
      at += character.length;
    }
    const found = this.merge(ids).flatMap((i) => [ids[i], places[i]]);
    if (ids.length <= SHORT && this.known.size < 2 ** 16) this.known.set(piece, found);
    return found;
  }

  /** Joins the best pair, the first of equals, until none can be joined; returns the places in `ids` that are left. */
  merge(ids) {
    const behind = ids.map((_, i) => i + 1);
    const before = ids.map((_, i) => i - 1);
    const queue = new Queue();
    const offer = (i) => {
      const merge = i >= 0 && behind[i] < ids.length && this.merges.get(pair(ids[i], ids[behind[i]]));
      if (merge) queue.push(merge.rank, i);
    };
    for (let i = 0; i + 1 < ids.length; i++) offer(i);
    for (let best = queue.pop(); best; best = queue.pop()) {
      const [rank, i] = best;
      const merge = ids[i] >= 0 && behind[i] < ids.length && this.merges.get(pair(ids[i], ids[behind[i]]));
      if (!merge || merge.rank !== rank) continue; // one of the two was joined with another
      const gone = behind[i];
      [ids[i], ids[gone], behind[i]] = [merge.joined, -1, behind[gone]];
      if (behind[i] < ids.length) before[behind[i]] = i;
      offer(before[i]);
      offer(i);
    }
    const left = [];
    for (let i = 0; i < ids.length; i = behind[i]) left.push(i);
    return left;
  }
}

/** Pairs of numbers, the least first: a heap. */
class Queue {
  constructor() {
    this.keys = [];
  }

  /** Ranks are below 2^21 and places below 2^32. */
  push(rank, place) {
    const keys = this.keys;
    let i = keys.push(rank * 2 ** 32 + place) - 1;
    for (let up = (i - 1) >> 1; i > 0 && keys[up] > keys[i]; i = up, up = (i - 1) >> 1) {
      [keys[up], keys[i]] = [keys[i], keys[up]];
    }
  }

  pop() {
    const keys = this.keys;
    if (keys.length === 0) return null;
    const [least, last] = [keys[0], keys.pop()];
    if (keys.length > 0) {
      keys[0] = last;
      for (let i = 0; ; ) {
        let child = 2 * i + 1;
        if (child + 1 < keys.length && keys[child + 1] < keys[child]) child++;
        if (child >= keys.length || keys[child] >= keys[i]) break;
        [keys[child], keys[i]] = [keys[i], keys[child]];
        i = child;
      }
    }
    return [Math.floor(least / 2 ** 32), least % 2 ** 32];
  }
}
