/**
 * The page's threads. One is the reader: it knows the profiles and reads texts. The others help it to search all codes.
 *
 * In: `{begin: data}`, `{helper: port}`, `{read: text}`; out: `{ready}`, `{early}` (a report on the registered
 * codes), `{progress}`, `{report}`, `{refused}`.
 */
import { joined, Names, publish, readBy, Reader, Refusal, runJob, Tokenizer } from "../src/index.js";

/** Threads take so many codes at a time. */
const CHUNK = 2 ** 15;

let readers = [];
const helpers = [];

const bytes = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

async function unpacked(base64) {
  const stream = new Blob([bytes(base64)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

async function begin({ profiles, root, registry, sample }) {
  const names = Names.verified(bytes(root), bytes(registry));
  readers = await Promise.all(profiles.map((each) => open(each, names)));
  await readers[0].read(sample, { search: warmUp });
  return { ready: true };
}

async function open({ profile, alphabet, merges }, names) {
  const document = publish(profile);
  const lines = (await unpacked(merges)).split("\n").slice(1).filter((line) => line !== "");
  return new Reader(document, Tokenizer.of(alphabet, lines, document.tokenizer.pre_tokenizer), names);
}

/** Lets every thread's compiler see the loops before a reader waits for them: a small part of the codes is enough. */
async function warmUp(job) {
  if (!job.windows) return runJob(job);
  const most = Math.min(job.number, 2 ** 13);
  for (const helper of helpers) helper.begin(job);
  const others = helpers.map((helper) => helper.ask(0, most));
  const own = runJob(job, 0, most);
  await Promise.all(others);
  return own;
}

/** A help's answers, one for each question, in order. */
class Helper {
  constructor(port) {
    this.port = port;
    this.waiting = [];
    port.onmessage = ({ data }) => this.waiting.shift()(data);
  }

  begin(job) {
    this.port.postMessage({ job });
  }

  ask(from, behind) {
    this.port.postMessage({ from, behind });
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}

function help(port) {
  let job = null;
  port.onmessage = ({ data }) => {
    if (data.job) job = data.job;
    else port.postMessage(runJob(job, data.from, data.behind));
  };
}

const pause = () => new Promise((resolve) => setTimeout(resolve));

/** Asks a job of all threads; each takes codes until there are none left. */
async function search(job, progress) {
  const answers = [];
  let [next, done] = [0, 0];
  const take = async (ask) => {
    while (next < job.number) {
      const [from, behind] = [next, Math.min(next + CHUNK, job.number)];
      next = behind;
      answers[from / CHUNK] = await ask(from, behind);
      done += behind - from;
      progress(done / job.number);
    }
  };
  const own = async (from, behind) => {
    await pause();
    return runJob(job, from, behind);
  };
  const others = job.number > CHUNK ? helpers : [];
  for (const helper of others) helper.begin(job);
  await Promise.all([...others.map((helper) => take((from, behind) => helper.ask(from, behind))), take(own)]);
  return joined(job, answers);
}

async function answer({ begin: data, helper, help: port, read: text }) {
  if (data) return begin(data);
  if (port) return void help(port);
  if (helper) return void helpers.push(new Helper(helper));
  const progress = (share) => postMessage({ progress: share });
  const options = {
    search: (job) => search(job, job.windows && !job.codes ? progress : () => {}),
    onRegistered: (report) => postMessage({ early: report }),
  };
  return { report: await readBy(readers, text, options) };
}

async function hear({ data }) {
  try {
    const message = await answer(data);
    if (message) postMessage(message);
  } catch (error) {
    postMessage({ refused: error instanceof Refusal ? error.status : "internal-error", message: String(error?.message ?? error) });
  }
}

/** One after the other: a text that is asked for early is read when the reader is ready. */
let turn = Promise.resolve();
onmessage = (event) => {
  turn = turn.then(() => hear(event));
};
