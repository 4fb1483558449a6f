/** The verdict, its details and whom to ask, put into the elements of a page. */
import { asks } from "./ask.js";
import { expert } from "./expert.js";
import { verdict } from "./verdict.js";

/**
 * Shows a report in the elements `result`, `verdict`, `says`, `means`, `asks`, `details` and `expert`; returns the words
 * of its verdict.
 *
 * @param given the text that was read
 * @param early whether the report knows the registered marks alone
 */
export function showResult(report, given, say, language, early = false) {
  const element = (id) => document.getElementById(id);
  const told = verdict(report, say, language, early);
  element("verdict").textContent = told.title;
  element("says").textContent = told.says;
  element("means").textContent = told.means;
  element("asks").replaceChildren(...asks(report, given, say, language));
  element("details").open = false;
  element("expert").replaceChildren(...expert(report, say, language));
  const result = element("result");
  result.classList.toggle("found", report.detected);
  result.dataset.p = report.p_value;
  result.toggleAttribute("data-early", early);
  result.hidden = false;
  return told;
}

/**
 * What to say of a refusal.
 *
 * @param most the number of characters that are read at once
 * @param bytes the number of bytes of a file that the service opens
 * @param why the kind of a file that is not opened, or the reason why a document is refused
 */
export function refusal(status, { most, bytes = 0, why, say, language }) {
  const about = Object.fromEntries(["kind", "advice", "reason"].map((name) => [name, say(`${name}-${why}`)]));
  const values = { characters: most.toLocaleString(language), kilobytes: Math.floor(bytes / 2 ** 10).toLocaleString(language), ...about };
  return `${say(`refused-${status}`, values) || say("refused")} (${status})`;
}
