/** 7.3 The toy profile's tokenizer, made by rule rather than read from its files. */
import { equal, sha256 } from "../../../packages/ctwl-web/src/bytes.js";
import { mergesFile, vocabFile } from "./files.js";
import { Refusal } from "../../../packages/ctwl-web/src/refusal.js";
import { ALPHABET, Tokenizer } from "../../../packages/ctwl-web/src/tokenizer.js";

export const toyTokenizer = new Tokenizer(new Map(ALPHABET.map((token, byte) => [token, byte])), [], "gpt2");

const DIGESTS = { vocab: sha256(vocabFile(ALPHABET)), merges: sha256(mergesFile([])) };

/** The tokenizer of a profile whose files are the toy's: the only one that this reader carries (5.3). */
export function tokenizerOf({ tokenizer }) {
  for (const file of ["vocab", "merges"]) {
    if (!equal(tokenizer[file].sha256, DIGESTS[file])) {
      throw new Refusal("proxy-not-found", `this reader has no ${file} of that digest`);
    }
  }
  return toyTokenizer;
}
