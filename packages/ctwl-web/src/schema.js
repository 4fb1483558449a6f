/** What documents are made of: maps of exactly these fields, integers in a range, byte strings of a length. */
import { Refusal } from "./refusal.js";

/** Checks of one document, refused with one status. */
export function checks(status) {
  const refuse = (what) => {
    throw new Refusal(status, what);
  };
  const need = (holds, what) => holds || refuse(what);
  return {
    need,
    /** A map of exactly these fields. */
    map(value, fields, what) {
      const is = value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Uint8Array);
      need(is, `${what} is not a map`);
      for (const field of fields) need(Object.hasOwn(value, field), `${what} lacks ${field}`);
      for (const field of Object.keys(value)) need(fields.includes(field), `${what} has an unknown field`);
      return value;
    },
    /** An integer from `least` to `most`; both may be bigint. */
    integer(value, least, most, what) {
      need(typeof value === "bigint" || Number.isSafeInteger(value), `${what} is not an integer`);
      need(value >= least && value <= most, `${what} is out of range`);
      return value;
    },
    bytes(value, length, what) {
      need(value instanceof Uint8Array && value.length === length, `${what} does not have ${length} bytes`);
      return value;
    },
    text(value, pattern, what) {
      need(typeof value === "string" && pattern.test(value), `${what} is not of its form`);
      return value;
    },
    oneOf(value, choices, what) {
      need(choices.includes(value), `${what} is none of ${choices.join(", ")}`);
      return value;
    },
    array(value, least, most, what) {
      need(Array.isArray(value) && value.length >= least && value.length <= most, `${what} is not an array of ${least} to ${most}`);
      return value;
    },
  };
}
