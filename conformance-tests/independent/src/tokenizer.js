/** 5.2 Tokenizer: byte-level BPE as GPT-2 defined it. */
import { utf8 } from "./bytes.js";
import { require } from "./refusal.js";

/** `\s` is the Unicode property, not JavaScript's own class, which differs from it in U+0085 and U+FEFF. */
const SPACE = "\\p{White_Space}";
const GPT2 = new RegExp(
  `'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^${SPACE}\\p{L}\\p{N}]+|${SPACE}+(?!\\P{White_Space})|${SPACE}+`,
  "gu",
);

/** The splitting rules: each pattern is applied to the pieces that the one before left. */
const RULES = { gpt2: [GPT2], "digits-gpt2": [/\p{N}/gu, GPT2] };

/** GPT-2's alphabet: the character that stands for each byte. */
export const ALPHABET = (() => {
  const shown = (byte) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(shown(byte) ? byte : next++));
})();

/** The pieces of a text under a rule, in order; joined they are the text. */
export function split(text, rule) {
  let pieces = [text];
  for (const pattern of RULES[rule]) pieces = pieces.flatMap((piece) => cut(piece, pattern));
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

/** A tokenizer of a vocabulary (a Map of token strings to ids) and merges, "a b" each, best first. */
export class Tokenizer {
  constructor(vocabulary, merges, rule) {
    this.vocabulary = vocabulary;
    this.ranks = new Map();
    merges.forEach((merge, rank) => {
      const parts = merge.split(" ");
      const tokens = parts.length === 2 && [...parts, parts.join("")].every((token) => vocabulary.has(token));
      require(tokens, "proxy-malformed", "a merge joins two tokens to a third");
      if (!this.ranks.has(merge)) this.ranks.set(merge, rank);
    });
    this.rule = rule;
  }

  /** The token ids of a normalized text. */
  encode(text) {
    const ids = [];
    for (const piece of split(text, this.rule)) {
      // A byte that has no token is left out before the merges.
      const symbols = Array.from(utf8(piece), (byte) => ALPHABET[byte]).filter((symbol) => this.vocabulary.has(symbol));
      for (const token of this.merge(symbols)) ids.push(this.vocabulary.get(token));
    }
    return ids;
  }

  /** Joins the best pair, everywhere from the left, until none can be joined. */
  merge(symbols) {
    if (this.ranks.size === 0) return symbols;
    for (;;) {
      let [best, rank] = [-1, Infinity];
      for (let i = 0; i + 1 < symbols.length; i++) {
        const found = this.ranks.get(`${symbols[i]} ${symbols[i + 1]}`);
        if (found < rank) [best, rank] = [i, found];
      }
      if (best < 0) return symbols;
      const [left, right] = [symbols[best], symbols[best + 1]];
      const joined = symbols.slice(0, best);
      for (let i = best; i < symbols.length; i++) {
        const pair = symbols[i] === left && symbols[i + 1] === right;
        joined.push(pair ? left + right : symbols[i]);
        if (pair) i++;
      }
      symbols = joined;
    }
  }
}
