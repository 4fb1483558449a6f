/** Reading by several profiles: one test on a text, whose p-values pay for the number of profiles. */
import { ALPHA } from "./reader.js";

/**
 * What a text carries by some readers, each of a profile: the report on the profile that shows the most. All are asked a
 * step at a time, and no further where one is conclusive.
 *
 * @param readers Readers
 * @param text see {@link Reader.read}
 * @param options see {@link Reader.read}; `alpha` is for all readers
 */
export async function readBy(readers, text, { alpha = ALPHA, search, onRegistered = () => {} } = {}) {
  const own = alpha / readers.length;
  const running = new Map(readers.map((reader) => [reader, reader.steps(text, { alpha: own, search })]));
  const reached = new Map();
  while (running.size > 0) {
    for (const [reader, steps] of running) {
      const { value, done } = await steps.next();
      if (done) running.delete(reader);
      else reached.set(reader, value);
      if (value?.conclusive) return together(readers, reached, alpha);
    }
    if ([...reached.values()].some(({ more }) => more)) onRegistered(together(readers, reached, alpha));
  }
  return together(readers, reached, alpha);
}

/** The report of the profile that shows the most, with what the others showed beside it. */
function together(readers, reached, alpha) {
  const reports = new Map(Array.from(reached, ([reader, step]) => [reader, paying(step.report(), readers.length, alpha)]));
  const clearer = (a, b) => b.detected - a.detected || a.p_value - b.p_value;
  const profiles = readers.map((reader) => {
    const report = reports.get(reader);
    const told = { name: reader.profile.name, read: report ? "light" : "no", missing: null, fetch: null };
    return { ...told, outcome: report?.outcome ?? null, p_value: report?.p_value ?? null };
  });
  return { ...[...reports.values()].sort(clearer)[0], profiles };
}

/** A report whose p-values pay for so many profiles, beside the level of all of them. */
function paying(report, paid, alpha) {
  const pay = (part) => part && { ...part, p_value: Math.min(1, paid * part.p_value) };
  const held = report.held_back && { ...report.held_back, needed: paid * report.held_back.needed };
  return { ...pay(report), alpha, spans: report.spans.map(pay), likeliest: pay(report.likeliest), held_back: held };
}
