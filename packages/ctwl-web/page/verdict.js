/** The verdict: what was found, how sure that is, and what it does not mean, in two sentences for everyone. */

/** Powers of ten that have a name. */
const NAMED = [12, 9, 6, 5, 4];

/** How many unmarked texts there are to one that looks so, in words. */
function number(p, say, language) {
  const power = NAMED.find((each) => p <= 10 ** -each);
  return power ? say(`number-${power}`) : say("number-0", { n: Math.floor(1 / p).toLocaleString(language) });
}

/** The name of whom a beacon names. */
export function nameOf({ provider, name, model, state }, say) {
  if (name === null) return say("who-unregistered", { provider });
  const whole = model === null ? say("who-nameless", { name }) : say("who", { name, model });
  return state === "retired" || state === "revoked" ? `${whole}, ${say(state)}` : whole;
}

/**
 * The words of a verdict: `{title, says, means}`.
 *
 * @param early whether the registered marks alone were tried so far
 */
export function verdict(report, say, language, early = false) {
  const told = toldOf(report, say, language, early);
  const read = ({ kind }) => say(["turned", "apart", "signs"].includes(kind) ? "hidden-stays" : "hidden-goes");
  const hidden = (report.hidden ?? []).map((each) => `${say(`hidden-${each.kind}`, each)} ${say("hidden-means")} ${read(each)}`);
  return { ...told, means: [told.means, ...hidden].join(" ") };
}

/** Whether names are from a registry for tests, as this page verified or as a service says. */
function isTest({ registry }) {
  return typeof registry === "string" ? registry.startsWith("test ") : Boolean(registry?.test);
}

function toldOf(report, say, language, early) {
  const { outcome, spans, tokens, p_value: p } = report;
  const quick = report.read === "whole" ? [] : [say("means-quick")];
  const nothing = [say("no-proof"), ...quick];
  if (early && outcome !== "found") return { title: say("early"), says: say("says-early"), means: nothing.join(" ") };
  if (outcome === "none") {
    const better = report.better_reader;
    const advice = better ? [say("read-better", { ...better, option: `--reading-model ${better.reading_model}` })] : [];
    const says = `${say("says-none", { tokens })} ${say("shows-from")}`;
    return { title: say("none"), says, means: [...nothing, ...advice].join(" ") };
  }
  if (outcome === "too-short") {
    return { title: say("short"), says: `${say("says-short", { tokens })} ${say("advice")}`, means: say("means-short") };
  }
  const kind = spans.length > 1 ? "parts" : spans[0].tokens === tokens ? "whole" : "part";
  const names = spans.map(({ record, code }) => (record ? nameOf(record.chain[0], say) : say("who-unregistered", { provider: code })));
  const who = [...new Set(names)].join(say("and"));
  return {
    title: say(`found-${kind}`, { count: spans.length }),
    says: say(`says-${kind}`, { who, number: number(p, say, language) }),
    means: [say("forgeable"), say("nothing-else"), ...(isTest(report) ? [say("means-test")] : []), ...report.signposts.map((each) => say("ask", each))].join(" "),
  };
}
