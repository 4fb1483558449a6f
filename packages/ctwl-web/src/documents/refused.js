/** Why a file is not read: for people in the words of the page, by a key. */
import { Refusal } from "../refusal.js";

/** A file of a kind that is known and not opened here. */
export class NotOpened extends Refusal {
  constructor(kind) {
    super("not-opened", `it is of the kind ${kind}, which is not opened here`);
    this.kind = kind;
  }
}

/** A document that is broken, locked or hostile, or that would cost too much. */
export class DocumentRefused extends Refusal {
  /**
   * @param {"broken" | "words" | "locked" | "bomb" | "large" | "parts" | "nested" | "dtd" | "people" | "spaces" | "script"} reason
   * @param {string} message what is wrong, for programmers
   */
  constructor(reason, message) {
    super("document-refused", message);
    this.reason = reason;
  }
}

/** Refuses a document unless `holds`. */
export function sound(holds, reason, message) {
  if (!holds) throw new DocumentRefused(reason, message);
}
