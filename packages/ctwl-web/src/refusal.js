/** A refusal: what an implementation must not accept, with its status code (section 11). */
export class Refusal extends Error {
  /**
   * @param {string} status a code of section 11
   * @param {string} message what is wrong, for people
   */
  constructor(status, message) {
    super(message);
    this.name = "Refusal";
    this.status = status;
  }
}

/** Refuses with `status` unless `holds`. */
export function require(holds, status, message) {
  if (!holds) throw new Refusal(status, message);
}

/** Runs `work`; a refusal inside it becomes one with `status`, except those named in `keep`. */
export function as(status, work, keep = []) {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Refusal) || keep.includes(error.status)) throw error;
    throw new Refusal(status, error.message);
  }
}
