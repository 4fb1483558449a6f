/** The popup: reads the selection, or the main text, of the page that it was opened on. Words come with the data. */
import { canRead, Threads } from "../page/threads.js";
import { refusal, showResult } from "../page/result.js";
import { speaker } from "../page/words.js";
import { HIGHLIGHT } from "./marks.js";

const data = JSON.parse(document.getElementById("data").textContent);
const { words } = data;
const say = speaker(words);
const element = (id) => document.getElementById(id);
const [message, result, showing, clearing, article, stop] = ["message", "result", "show", "clear", "article", "stop"].map(element);

/** Colours with their own ink, since pages have any; underlined, since colour alone is not seen by everyone. */
const LOOK = "background-color: #cfe4fb; color: #1b1f24; text-decoration: underline #0b5cad 1px; text-underline-offset: .2em;";
const STYLE = `::highlight(${HIGHLIGHT}) { ${LOOK} }`;

let tab = null;
let given = "";
let threads = null;

function tell(what, wrong = false) {
  message.textContent = what;
  message.classList.toggle("wrong", wrong);
}

/** Calls a function of content.js in the page. */
async function inPage(name, ...values) {
  const [{ result: found }] = await chrome.scripting.executeScript({
    target: { tabId: tab },
    func: (called, given) => globalThis.ctwl[called](...given),
    args: [name, values],
  });
  return found;
}

/** What the button of the extension shows for this tab: the number of passages, or a sign. */
async function badge(sign, title) {
  await chrome.action.setBadgeBackgroundColor({ tabId: tab, color: "#0b5cad" });
  await chrome.action.setBadgeText({ tabId: tab, text: sign });
  await chrome.action.setTitle({ tabId: tab, title });
}

function idle() {
  stop.hidden = true;
  article.disabled = false;
}

async function read(mainText = false) {
  result.hidden = showing.hidden = clearing.hidden = true;
  let found = null;
  try {
    await chrome.scripting.executeScript({ target: { tabId: tab }, files: ["content.js"] });
    found = await inPage("collect", mainText);
    given = found.text;
  } catch {
    return tell(say("extension-refused"), true);
  }
  if (given.trim() === "") return tell(say("extension-empty"), true);
  element("source").textContent = say(`extension-${found.source}`);
  article.hidden = found.source === "article";
  article.disabled = true;
  stop.hidden = false;
  tell(say("reading"));
  threads.read(given);
}

async function hear({ ready, early, progress, report, refused }) {
  if (ready) return undefined;
  if (progress !== undefined) return tell(say("progress", { percent: Math.floor(100 * progress) }));
  if (early) return showResult(early, given, say, words.language, true);
  idle();
  if (refused) {
    result.hidden = true;
    return tell(refusal(refused, { most: data.characters, say, language: words.language }), true);
  }
  tell("");
  const { title } = showResult(report, given, say, words.language);
  element("verdict").focus();
  await badge({ found: String(report.spans.length), none: "–", "too-short": "?" }[report.outcome], title);
  if (!report.detected) return undefined;
  await chrome.scripting.insertCSS({ target: { tabId: tab }, css: STYLE });
  const onPage = await inPage("mark", given, report.spans);
  showing.hidden = clearing.hidden = !onPage;
  element("elsewhere").hidden = onPage;
  return undefined;
}

showing.addEventListener("click", () => inPage("show"));
clearing.addEventListener("click", async () => {
  await inPage("clear");
  showing.hidden = clearing.hidden = true;
});
article.addEventListener("click", () => read(true));
stop.addEventListener("click", () => {
  threads.stop();
  idle();
  result.hidden = true;
  tell(say("stopped"));
});

async function begin() {
  if (!canRead()) return tell(say("unsupported"), true);
  threads = new Threads(() => new Worker("engine.js"), data, hear);
  [{ id: tab }] = await chrome.tabs.query({ active: true, currentWindow: true });
  return read();
}

begin();
