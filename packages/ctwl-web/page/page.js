/**
 * The page: what people see and do. All words come with the data; texts are only ever put in as text. Where a service
 * shows the page, that reads with the language model; of a profile that the page cannot read, it reads all texts.
 */
import { FILE } from "../src/documents/budget.js";
import { KINDS, kindOf } from "../src/documents/kinds.js";
import { openDocument } from "../src/documents/open.js";
import { Refusal } from "../src/refusal.js";
import { refusal, showResult } from "./result.js";
import { canRead, Threads } from "./threads.js";
import { speaker } from "./words.js";

const data = JSON.parse(document.getElementById("data").textContent);
const { words, service } = data;
const element = (id) => document.getElementById(id);
const [form, text, file, button, stop, message, result, whole, send] = [
  "form", "text", "file", "read", "stop", "message", "result", "whole", "send",
].map(element);

const say = speaker(words);

function tell(what, wrong = false) {
  send.hidden = true;
  message.textContent = what;
  message.classList.toggle("wrong", wrong);
}

function refuse(status, why) {
  tell(refusal(status, { most: asking ? service.characters : data.characters, bytes: service?.bytes, why, say, language: words.language }), true);
}

/** The file that the service may open, `{name, bytes}`. */
let unopened = null;

/** Null where only the service reads. */
let threads = null;
let busy = false;
/** What takes back the question to the service; null where there is none. */
let asking = null;

function begin() {
  if (!data.engine) return hear({ ready: true });
  const address = URL.createObjectURL(new Blob([data.engine], { type: "text/javascript" }));
  threads = new Threads(() => new Worker(address), data, hear);
}

function hear({ ready, early, progress, report, refused }) {
  if (ready) {
    button.disabled = false;
    if (message.textContent === say("loading")) tell("");
    if (wanted) read();
  } else if (early) {
    show(early, true);
  } else if (progress !== undefined) {
    tell(say("progress", { percent: Math.floor(100 * progress) }));
  } else {
    finish();
    if (refused) return refuse(refused);
    tell("");
    show(report);
  }
}

function finish() {
  busy = false;
  if (result.hasAttribute("data-early")) result.hidden = true; // the verdict on other marks is still to come
  button.disabled = whole.disabled = false;
  button.textContent = say("read");
  stop.hidden = true;
  form.removeAttribute("aria-busy");
}

async function read() {
  if (busy || button.disabled) return;
  wanted = false;
  result.hidden = true;
  if (text.value.trim() === "") return tell(say("empty"), true);
  if (!(await unpack()) || busy) return;
  given = text.value;
  start("reading");
  if (threads) threads.read(given);
  else ask("auto");
}

let given = "";
/** Whether an example was chosen before the page could read. */
let wanted = false;

function start(what) {
  busy = true;
  button.disabled = whole.disabled = true;
  button.textContent = say("reading");
  stop.hidden = false;
  form.setAttribute("aria-busy", "true");
  tell(say(what));
}

/** Has the service read the text that was read last. */
async function ask(score) {
  const question = new AbortController();
  asking = question;
  let found = { refused: "unreachable" };
  try {
    const answer = await fetch("v1/decode", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ text: given, score }),
      signal: question.signal,
    });
    const body = await answer.json();
    found = answer.ok ? { report: body } : { refused: body.code ?? "unreachable" };
  } catch {
    // No answer, or none of the service's.
  }
  if (question.signal.aborted) return;
  hear(found);
  asking = null;
}

/** Shows a report; an early one knows the registered marks alone. */
function show(report, early = false) {
  showResult(report, given, say, words.language, early);
  element("shown").hidden = !report.detected;
  element("passages").replaceChildren(...(report.detected ? coloured(report.spans) : []));
  element("more").hidden = !service || !data.engine || early || report.read === "whole";
  if (!early) element("verdict").focus();
}

/** The text with its passages marked. */
function coloured(spans) {
  const characters = Array.from(given);
  const parts = [];
  let done = 0;
  for (const { start, end } of spans) {
    const mark = document.createElement("mark");
    mark.textContent = characters.slice(start, end).join("");
    parts.push(characters.slice(done, start).join(""), mark);
    done = end;
  }
  return [...parts, characters.slice(done).join("")];
}

/** The words in bytes: `{text, kind, left}`; null, and the reason told, where there are none. */
async function wordsIn(bytes) {
  try {
    const found = await openDocument(bytes);
    if (found.text.trim() === "") refuse("document-refused", "words");
    else if (charactersOf(found.text) > data.characters) refuse("input-too-large");
    else return found;
  } catch (error) {
    refuse(error instanceof Refusal ? error.status : "internal-error", error.kind ?? error.reason);
  }
  return null;
}

const charactersOf = (given) => (given.length > data.characters ? Array.from(given).length : given.length);

/** Puts the words of the first of some files into the box. */
async function take([chosen, ...others]) {
  file.value = "";
  result.hidden = true;
  const { name } = chosen;
  if (chosen.size > FILE) return refuse("input-too-large");
  tell(say("opening", { name }));
  const bytes = await chosen.arrayBuffer().catch(() => null);
  if (!bytes) return refuse("input-unreadable");
  const found = await wordsIn(new Uint8Array(bytes));
  if (!found) return offer(name, bytes);
  text.value = found.text;
  const how = others.length > 0 ? "loaded-first" : found.left.length > 0 ? "loaded-without" : "loaded";
  return tell(say(how, { name, left: found.left.join(", ") }));
}

/** Offers to have the service open what the page cannot. */
function offer(name, bytes) {
  unopened = { name, bytes };
  send.hidden = !service || !KINDS[kindOf(new Uint8Array(bytes))]?.send;
}

/** Has the service open a file, and puts its words into the box. */
async function openThere({ name, bytes }) {
  if (bytes.byteLength > service.bytes - 2 ** 10) return refuse("file-too-large"); // the form has some bytes of its own
  tell(say("opening-there", { name }));
  const body = new FormData();
  body.append("file", new Blob([bytes]), "file"); // its name tells nothing
  try {
    const answer = await fetch("v1/words", { method: "POST", body });
    const found = await answer.json();
    if (!answer.ok) return refuse(found.code === "document-refused" ? "document-refused" : (found.code ?? "unreachable"), "broken");
    if (found.text.trim() === "") return refuse("document-refused", "words");
    text.value = found.text;
    return tell(say("loaded", { name }));
  } catch {
    return refuse("unreachable");
  }
}

/** Takes files, or the words of a selection; a link is named. */
function takeDropped(dropped) {
  if (dropped.files.length > 0) return take([...dropped.files]);
  result.hidden = true;
  if (dropped.types.includes("Files")) return refuse("input-unreadable");
  if (dropped.types.includes("text/uri-list")) return refuse("not-opened", "link");
  text.value = dropped.getData("text/plain") || dropped.getData("text/html");
  return tell("");
}

/** Puts the words of what was pasted into the box; false where it cannot be opened. */
async function unpack() {
  element("packed").textContent = "";
  const bytes = new TextEncoder().encode(text.value);
  const kind = kindOf(bytes);
  if (kind === null || (KINDS[kind]?.xml && KINDS[kind].read)) return true; // words of markup stand in it
  const found = await wordsIn(bytes);
  if (!found) return false;
  if (text.value === found.text) return true;
  text.value = found.text;
  element("packed").textContent = say("unpacked", { kind: say(`kind-${kind}`) });
  return true;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  read();
});
whole.addEventListener("click", () => {
  start("reading-whole");
  ask("whole");
});
stop.addEventListener("click", () => {
  finish();
  tell(say("stopped"));
  if (asking) {
    asking.abort();
    asking = null;
    return;
  }
  button.disabled = true; // until the new threads are ready
  threads.stop();
});
text.addEventListener("input", () => tell(""));
file.addEventListener("change", () => file.files.length > 0 && take([...file.files]));
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    const dropped = event.dataTransfer;
    if (event.target === text && !dropped.types.includes("Files")) return; // the browser puts words into the box
    event.preventDefault(); // it would leave the page for a file or a link
    form.classList.toggle("drop", kind === "dragover");
    if (kind === "drop") takeDropped(dropped);
  });
}
element("open").addEventListener("click", () => openThere(unopened));
for (const [name, example] of Object.entries(data.examples)) {
  const choice = document.createElement("button");
  choice.type = "button";
  choice.textContent = say(`example-${name}`);
  choice.addEventListener("click", () => {
    text.value = example;
    tell("");
    wanted = button.disabled && !busy;
    read();
  });
  element("examples").append(choice);
}
if (data.engine && !canRead()) tell(say("unsupported"), true);
else begin();
