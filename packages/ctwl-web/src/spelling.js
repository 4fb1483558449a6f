/** 9.6 Names: how they are spelled, and which of them look alike. */
import { REGISTRY } from "./numbers.js";
import { SPELLING } from "./spelling-table.js";

const code = (number) => `\\u{${number.toString(16)}}`;
const CHARACTERS = new RegExp(`^[${SPELLING.characters.map(([first, last]) => `${code(first)}-${code(last)}`).join("")}]+$`, "u");
/** A mark on nothing that carries one, or a tower of marks. */
const LOOSE = new RegExp(`(?:^|[^\\p{L}\\p{M}])\\p{M}|\\p{M}{${REGISTRY.marks + 1}}`, "u");

/** From right to left, which begins with a letter and has none of the other direction. */
const LEFTWARD = /[\u0590-\u08ff]/;
const ONE_WAY = /^(?=\p{L})[\u0590-\u08ff][\u0590-\u08ff -@[-`{-~]*$/u;

/** Whether a string is spelled as a name. */
export const isName = (value) =>
  typeof value === "string" &&
  CHARACTERS.test(value) &&
  Array.from(value).length <= REGISTRY.name &&
  value.normalize("NFC") === value &&
  !value.split(" ").includes("") &&
  !LOOSE.test(value) &&
  (!LEFTWARD.test(value) || ONE_WAY.test(value));

/** Whether two names share a skeleton. */
export function lookAlike(one, other) {
  const looks = looksOf(one);
  return looksOf(other).some((look) => looks.includes(look));
}

/** The skeletons (UTS #39, without spaces and punctuation, in capitals) of a name, its capitals and its small letters. */
export const looksOf = (name) => [name, name.toUpperCase(), name.toLowerCase()].map(skeleton);

function skeleton(name) {
  const shown = Array.from(name.normalize("NFD"), (part) => (Object.hasOwn(SPELLING.looks, part) ? SPELLING.looks[part] : part));
  return shown.join("").normalize("NFD").toUpperCase();
}
