/** 5.5 Blocks: how a language model reads a text of any length. */
import NUMBERS from "../../../spec/numbers.json" with { type: "json" };

const [LENGTH, OVERLAP] = [NUMBERS.blocks.length.value, NUMBERS.blocks.overlap.value];

/** The blocks of a text: `[start, first, end]` each. A model of the toy kind needs none: it sees the prefix alone. */
export function blocks(tokens, prefixLength, places = LENGTH) {
  const length = Math.min(LENGTH, places + 1);
  const back = Math.min(OVERLAP, Math.floor(length / 2));
  const found = [];
  for (let [start, first] = [0, prefixLength]; first < tokens; ) {
    const end = Math.min(start + length, tokens);
    found.push([start, first, end]);
    [start, first] = [end - back, end];
  }
  return found;
}
