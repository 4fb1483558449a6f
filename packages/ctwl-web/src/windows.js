/** 10.2 Windows, and the number of tests. */

export const LENGTHS = [96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096];
const MAX_WHOLE = 4096;

/** The windows of a text of some positions for records of `n` codes: `[first, behind last]`. */
export function windows(positions, n) {
  const found = [];
  for (const length of LENGTHS) {
    if (4 * length > 3 * positions || length < 96 * n) continue;
    for (let start = 0; start + length <= positions; start += length / 4) found.push([start, start + length]);
  }
  return found;
}

export const isWholeTested = (positions) => positions <= MAX_WHOLE;

/**
 * `K` of the whole text and of a window, null where there is no such test.
 *
 * @param positions of the text
 * @param n of the record
 * @param codes `N`, the number of codes searched
 * @param forms `F`
 * @param numbers how many numbers of codes are tried
 * @param share of the level that is the score's, `1 / E`
 */
export function tests(positions, n, codes, forms, numbers, share = 1) {
  const count = windows(positions, n).length;
  const whole = isWholeTested(positions);
  const both = whole && count > 0;
  const each = numbers === 1 ? 1 : n === 1 ? 4 / 3 : 4 * (numbers - 1); // `C`
  const shared = (codes * forms * each * (n === 1 ? 1 : 2)) / share;
  return { whole: whole ? (both ? (shared * 4) / 3 : shared) : null, window: count > 0 ? shared * (both ? 4 : 1) * count : null };
}
