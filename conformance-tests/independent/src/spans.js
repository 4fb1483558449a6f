/** 10.3 Spans: where a code is. Their ends are informative. */
import NUMBERS from "../../../spec/numbers.json" with { type: "json" };
import { colour, colourSeed } from "../../../packages/ctwl-web/src/hashing.js";
import { utf8 } from "../../../packages/ctwl-web/src/bytes.js";

/** How far, in units, the sum of units may fall inside a span, and what a position of another span is worth. */
const [FALL, TAKEN] = [NUMBERS.spans.fall.value * NUMBERS.scores.nat.value, NUMBERS.spans.taken.value];

/** How many positions two stretches `{from, behind}` share. */
export const overlap = (a, b) => Math.max(0, Math.min(a.behind, b.behind) - Math.max(a.from, b.from));

/** The units at each position for the code that its slot carries; `codes` are those of the slots, null where none was read. */
function unitsAlong({ reader: { profile, found }, from, behind, n, code, record, codes = [code] }, spans) {
  const values = new Int32Array(found.length);
  const places = Array.from(values.keys());
  const seen = new Set();
  for (const place of [...places.slice(from, behind), ...places.slice(0, from), ...places.slice(behind)]) {
    const { context, name, token, slots, units } = found[place];
    const pair = `${name}|${token}`;
    const slot = slots[n - 1];
    const carried = codes[slot] ?? null;
    if (carried !== null && !seen.has(pair)) {
      const at = slot === 0 ? [0, 0, 0] : [record.layout, slot, record.fields.nonce];
      values[place] = units[colour(colourSeed(profile.key, context, ...at), carried, profile.colours)];
    }
    seen.add(pair);
  }
  for (const span of spans) values.fill(TAKEN, span.from, span.behind);
  return values;
}

/** The stretches `{from, behind}` over which the sum of values grows. */
export function growing(values) {
  const stretches = [];
  let [sum, peak, from, behind] = [0, 0, 0, 0];
  [...values, -FALL - 1].forEach((value, i) => {
    sum += value;
    if (sum > peak) [peak, behind] = [sum, i + 1];
    if (sum > 0 && peak - sum <= FALL) return;
    if (peak > 0) stretches.push({ from, behind });
    [sum, peak, from] = [0, 0, i + 1];
  });
  return stretches;
}

/** The span of a window that is found, beside other spans; null if there is none. */
export function spanOf(window, spans) {
  const values = unitsAlong(window, spans);
  const inside = ({ from, behind }) => {
    return values.slice(Math.max(from, window.from), Math.min(behind, window.behind)).reduce((sum, value) => sum + value, 0);
  };
  const stretches = growing(values).filter((stretch) => overlap(stretch, window) > 0);
  if (stretches.length === 0) return null;
  return { ...window, ...stretches.reduce((a, b) => (inside(b) > inside(a) ? b : a)) };
}

/** Spans in order, neighbours of one code joined that have at most `gap` positions between. */
export function joined(spans, gap) {
  const result = [];
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    const before = result.at(-1);
    if (before?.code === span.code && span.from - before.behind <= gap) {
      result[result.length - 1] = { ...(span.p < before.p ? span : before), from: before.from, behind: span.behind };
    } else result.push(span);
  }
  return result;
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
    end(token) {
      if (token >= places.length) return points(source[unit]);
      let place = places[token];
      while (place > 0 && /\p{White_Space}/u.test(given[place - 1])) place--;
      return points(place);
    },
  };
}
