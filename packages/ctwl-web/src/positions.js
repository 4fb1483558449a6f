/** 5.4 Positions. */

/** The positions of a text's tokens: `{index, window, context, token}` each. */
export function positions(tokens, prefixLength, contextLength) {
  const found = [];
  for (let i = prefixLength; i < tokens.length; i++) {
    found.push({
      index: i - prefixLength,
      window: tokens.slice(i - prefixLength, i),
      context: tokens.slice(i - contextLength, i),
      token: tokens[i],
    });
  }
  return found;
}
