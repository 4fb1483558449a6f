/** 9.4 Framing: which slot a position carries. */
import { slotWord } from "./hashing.js";
import { RECORDS } from "./numbers.js";

/** The most codes that a record has. */
export const MAX_CODES = RECORDS.codes;

/** The slot of a position in records of `n` codes, from the `word` of the last tokens before it. */
export const interleavedSlot = (word, n) => (n === 1 ? 0 : Math.max(0, Math.floor((word * (n + 2)) / 2 ** 32) - 1));

/** The slots of a position in records of 1, 2, 3 and 4 codes. */
export function slots(profile, position) {
  const numbers = Array.from({ length: MAX_CODES }, (_, i) => i + 1);
  const word = slotWord(profile.key, position.window.slice(-RECORDS.slot_tail));
  return numbers.map((n) => interleavedSlot(word, n));
}

/** What each slot of a record carries: the codes and, behind several, the check of all but an authenticator. */
export function carried({ authenticated }, codes) {
  if (codes.length === 1) return codes;
  const checked = authenticated ? codes.slice(0, -1) : codes;
  return [...codes, checked.reduce((a, b) => a ^ b)];
}
