/** What is in the other folders of the repository: vectors, profiles, the registry. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { Names, profileFromJson, Reader, Tokenizer } from "../src/index.js";

const ROOT = new URL("../../../", import.meta.url);
const PROTOCOL = new URL("packages/ctwl-protocol/src/ctwl_protocol/", ROOT);

const file = (path, from = ROOT) => readFileSync(new URL(path, from));
const json = (path, from) => JSON.parse(file(path, from).toString("utf8"));

export const vectors = (family) => json(`conformance-tests/vectors/v1/${family}.json`).tests;
export const text = (path) => file(path).toString("utf8");
/** Pages of HTML, and the words that a browser shows; the Python reader is tested by them too. */
export const pages = () => json("pages.json", import.meta.url);
/** Bytes of pages, what their mail says of them, and the characters that are read; by the Python reader too. */
export const charsets = () => json("charsets.json", import.meta.url);
/**
 * Files, the words that are read of them and the texts beside these, or why they are refused; by the Python reader too.
 * By `page` this reader names a kind that the Python reader opens.
 */
export const documents = () => json("documents.json", import.meta.url);
/** Texts that people wrote, which look like files; by the Python reader too. */
export const plainTexts = () => json("plain.json", import.meta.url);
/** Texts, and the variants that are read of them; by the Python reader too. */
export const variants = () => json("variants.json", import.meta.url);
export const parity = () => json("parity.json", import.meta.url);
/** The same by all published profiles. */
export const byProfiles = () => json("profiles.json", import.meta.url);

const published = (name) => profileFromJson(json(`profile/published/${name}.json`, PROTOCOL));

/** The reader of a toy profile, which has no registry; the toy profiles have one tokenizer. */
export function toyReader(name = "org.ctwl.toy.1") {
  const vocabulary = json("profile/published/org.ctwl.toy.1/vocab.json", PROTOCOL);
  return new Reader(published(name), Tokenizer.of(vocabulary, [], "gpt2"));
}

export const envelopes = () => ["root", "registry"].map((name) => file(`registry/bundled/${name}.ctwl`, PROTOCOL));

/** The reader of a published profile. */
export function reader(name = "org.ctwl.smollm2-135m.1") {
  const profile = published(name);
  const folder = new URL(`profile/published/${name}/`, PROTOCOL);
  const python = "import lzma, sys; sys.stdout.buffer.write(lzma.open(sys.argv[1]).read())";
  const merges = execFileSync("python3", ["-c", python, new URL("merges.txt.xz", folder).pathname], { maxBuffer: 2 ** 24 });
  const lines = merges.toString("utf8").split("\n").slice(1).filter((line) => line !== "");
  const tokenizer = Tokenizer.of(json("alphabet.json", folder), lines, profile.tokenizer.pre_tokenizer);
  return new Reader(profile, tokenizer, Names.verified(...envelopes()));
}
