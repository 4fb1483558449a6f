/** 10.4 Records: the p-value of a record that was read, and the chance that a slot of it was read wrong. */
import { pValue, tail } from "../../../packages/ctwl-web/src/null.js";

/** 10.4: the sets of two of `n` slots or more. A record that agrees with its check is wrong in such a set. */
export function wrongSets(n) {
  const slots = [...Array(n).keys()];
  const sets = Array.from({ length: 2 ** n }, (_, bits) => slots.filter((slot) => (bits >> slot) & 1));
  return sets.filter((set) => set.length >= 2);
}

/** 10.4: the ways to be wrong in just the slots of a set. One of them, with most codes, follows from the others. */
export function ways(set, { slots, records, layouts }) {
  if (set.length === slots.length) return records;
  const [, ...free] = set.map((slot) => slots[slot].codes).sort((a, b) => b - a);
  const others = set.length === slots.length - 1 && !set.includes(0) ? layouts : 1;
  return free.reduce((product, codes) => product * codes, others);
}

/** 10.4: `doubt(B)`, which may be above 1. */
export function doubt(set, record) {
  const wrong = set.map((slot) => record.slots[slot]);
  const score = wrong.reduce((sum, slot) => sum + slot.score, 0);
  return tail(wrong.flatMap(({ units }) => units), score) * ways(set, record);
}

/**
 * 10.4: the p-value of a record, and the chance, at most, that each of its slots was read wrong. The beacon's own test
 * is left aside.
 *
 * @param record `{slots, records, layouts}`: the rows of units, the score and the number of codes of each slot, the check's
 *   last; the multiplier of the first test; the layouts of so many codes
 */
export function doubts(record) {
  const all = wrongSets(record.slots.length).map((set) => ({ set, q: doubt(set, record) }));
  const summed = (some) => pValue(some.reduce((sum, { q }) => sum + q, 0), 1);
  return { record: summed(all), slots: record.slots.map((_, slot) => summed(all.filter(({ set }) => set.includes(slot)))) };
}
