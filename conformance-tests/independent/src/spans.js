/** 10.3 Spans: where a code is. Their ends are informative. */
import { colour, colourSeed } from "../../../packages/ctwl-web/src/hashing.js";
import { utf8 } from "../../../packages/ctwl-web/src/bytes.js";

/** How far the sum of units may fall inside a span. */
const MAX_FALL = 96;

/** The stretch of positions, around a passage, over which the sum of a code's units grows: `{from, behind}`. */
export function extent(profile, found, { from, behind, n, code }) {
  const unit = (position) => {
    if (position.slots[n - 1] !== 0) return 0;
    return position.units[colour(colourSeed(profile.key, position.context, 0, 0, 0), code, profile.colours)];
  };
  const units = found.map(unit);
  const middle = Math.floor((from + behind) / 2);
  const reach = (start, step) => {
    let [sum, best, end] = [0, 0, start];
    for (let i = start; i >= 0 && i < units.length && best - sum <= MAX_FALL; i += step) {
      sum += units[i];
      if (sum > best) [best, end] = [sum, i];
    }
    return end;
  };
  const [first, last] = [reach(middle - 1, -1), reach(middle, 1)];
  const snap = profile.prefix_length;
  return {
    from: first <= snap ? 0 : first,
    behind: last + 1 + snap >= units.length ? units.length : last + 1,
  };
}

/** Spans in order, those of one code joined that overlap or have no more than `gap` positions between. */
export function joined(spans, gap) {
  const result = [];
  for (const span of spans.toSorted((a, b) => a.from - b.from || a.p - b.p)) {
    const before = result.findLast(({ code }) => code === span.code);
    if (before && span.from - before.behind <= gap) {
      const better = span.p < before.p ? span : before;
      Object.assign(before, { ...better, from: before.from, behind: Math.max(before.behind, span.behind) });
    } else result.push({ ...span });
  }
  return result;
}

/** Spans in order that share no position: where two meet, the one of the smaller p-value keeps what both have. */
export function apart(spans) {
  const kept = [];
  for (const span of spans.toSorted((a, b) => a.p - b.p)) {
    let { from, behind } = span;
    for (const other of kept) {
      if (other.from <= from && from < other.behind) from = other.behind;
      else if (from < other.from && other.from < behind) behind = other.from;
    }
    if (from < behind) kept.push({ ...span, from, behind });
  }
  return kept.toSorted((a, b) => a.from - b.from);
}

/**
 * Where tokens, which are the bytes of a normal form, stand among the characters of the text as given: `start` is the place
 * of the character that a token is from, `end` that of the end of what stands before a token, without white space there.
 *
 * @param given the text as given
 * @param normal its normal form, which knows the place of each of its UTF-16 units in the text as given
 */
export function charactersOf(given, { text, source }) {
  const places = [];
  let unit = 0;
  for (const character of text) {
    places.push(...Array(utf8(character).length).fill(source[unit]));
    unit += character.length;
  }
  const points = (place) => Array.from(given.slice(0, place)).length;
  return {
    start: (token) => points(places[token]),
    end: (token) => points(token < places.length ? given.slice(0, places[token]).trimEnd().length : source[unit]),
  };
}
