/** 10.2 Windows, and the number of tests. */
import { SEARCH } from "./numbers.js";

export const LENGTHS = SEARCH.window_lengths;
const MAX_WHOLE = LENGTHS.at(-1);
const { window_part: LONGEST_PART, window_step: STEP, positions_per_code: POSITIONS_PER_CODE } = SEARCH;
const { one_code: ONE_CODE, whole: WHOLE, record_tests: RECORD_TESTS } = SEARCH;

/** The windows of a text of some positions for records of `n` codes: `[first, behind last]`. */
export function windows(positions, n) {
  const found = [];
  for (const length of LENGTHS) {
    if (length > LONGEST_PART * positions || length < POSITIONS_PER_CODE * n) continue;
    for (let start = 0; start + length <= positions; start += length * STEP) found.push([start, start + length]);
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
  const each = numbers === 1 ? 1 : n === 1 ? 1 / ONE_CODE : (numbers - 1) / (1 - ONE_CODE); // `C`
  const shared = (codes * forms * each * (n === 1 ? 1 : RECORD_TESTS)) / share;
  return {
    whole: whole ? shared / (both ? WHOLE : 1) : null,
    window: count > 0 ? (shared / (both ? 1 - WHOLE : 1)) * count : null,
  };
}
