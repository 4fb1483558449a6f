/**
 * Asking the detectors that signposts name (spec section 20). The page may send nothing, so it sends nothing here either:
 * it shows what would go where, and once the person agrees, copies it and shows the address.
 */

function made(kind, text, more = {}) {
  return Object.assign(document.createElement(kind), { textContent: text }, more);
}

/** The passages that went through a provider's model, with their numbers. */
function passagesOf(report, provider) {
  const numbered = report.spans.map((span, i) => ({ ...span, number: i + 1 }));
  return numbered.filter(({ record }) => record?.chain.some((hop) => hop.provider === provider));
}

/** One element for each detector and passage. */
export function asks(report, text, say, language) {
  const characters = Array.from(text);
  return report.signposts.flatMap((signpost) =>
    passagesOf(report, signpost.provider).map(({ number, start, end }) => {
      const place = { start: start.toLocaleString(language), end: end.toLocaleString(language) };
      return ask(characters.slice(start, end).join(""), { ...signpost, ...place, number }, say);
    }),
  );
}

function ask(words, values, say) {
  const found = document.createElement("details");
  found.className = "ask";
  const shown = made("div", words, { className: "words", tabIndex: 0, role: "region", ariaLabel: say("ask-words") });
  const told = made("p", "", { role: "status" });
  const link = made("a", say("ask-open", values), { target: "_blank", rel: "noopener noreferrer", hidden: true });
  const agree = made("button", say("ask-agree"), { type: "button", className: "quiet" });
  agree.addEventListener("click", async () => {
    const copied = await copy(words);
    told.textContent = say(copied ? "ask-copied" : "ask-by-hand");
    link.href = values.url;
    link.hidden = false;
    link.focus();
  });
  const command = made("p", say("ask-command", values), { className: "soft" });
  found.append(made("summary", say("ask-about", values)), made("p", say("ask-sends", values)), shown, agree, told, link, command);
  return found;
}

async function copy(words) {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    return false; // the browser, or the page's address, does not allow it
  }
}
