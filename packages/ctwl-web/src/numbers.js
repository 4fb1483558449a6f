/** The numbers that several languages share: spec/numbers.json, where each has its section and its reason. */
import NUMBERS from "./numbers.json" with { type: "json" };

const values = (group) => Object.fromEntries(Object.entries(group).map(([name, { value }]) => [name, value]));

export const TEXT = values(NUMBERS.text);
export const SPLITTING = values(NUMBERS.splitting);
export const RECORDS = values(NUMBERS.records);
export const DOCUMENTS = values(NUMBERS.documents);
export const REGISTRY = values(NUMBERS.registry);
export const SCORES = values(NUMBERS.scores);
export const LIGHT = values(NUMBERS.light);
export const SEARCH = values(NUMBERS.search);
export const SPANS = values(NUMBERS.spans);
export const READING = values(NUMBERS.reading);
export const NULL = values(NUMBERS.null);
export const VARIANTS = values(NUMBERS.variants);
export const HIDDEN = values(NUMBERS.hidden);
export const TAGS = values(NUMBERS.tags);
export const DIALECTS = values(NUMBERS.dialects);
export const MARKS = values(NUMBERS.marks);

/** Ranges of code points, such as `AD 200E-200F`, as a pattern with the flag `u` has them inside of brackets. */
export const pointsOf = (ranges) => ranges.replace(/[0-9A-F]+/g, "\\u{$&}").replaceAll(" ", "");
