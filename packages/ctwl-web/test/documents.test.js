/** The words in the files that people have, and what attackers send. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decoded } from "../src/documents/html.js";
import { openDocument } from "../src/documents/open.js";
import { Refusal } from "../src/index.js";
import { base64, made, mail, parts, zip } from "./made.js";
import { charsets, documents, pages, plainTexts, text } from "./folder.js";

const MARKED = text("packages/ctwl-web/page/examples/marked.txt").trim();
const bytes = (given) => (typeof given === "string" ? new TextEncoder().encode(given) : given);
const wordsOf = async (given) => (await openDocument(bytes(given))).text;
const refused = (status, said = /./) => (error) => error instanceof Refusal && error.status === status && said.test(error.message);

for (const [name, row] of Object.entries(documents())) {
  test(`${name}: the words are read, and those beside them named, or it is refused`, async () => {
    const read = ({ text, left }) => ({ words: text.replaceAll("\r\n", "\n"), left });
    const found = await openDocument(made(row.file)).then(read, (error) => error.reason ?? error.kind ?? error);
    assert.deepEqual(found, row.page ?? row.refused ?? { words: row.words, left: Object.keys(row.beside ?? {}) });
  });
}

test("a mail that passed many servers is one", async () => {
  const passed = `X-Passed: ${"far ".repeat(400)}\r\n`.repeat(20);
  assert.equal(await wordsOf(passed + mail("text/plain", "base64", base64("words"))), "words");
});

test("a charset is what the bytes are, before what a label says", () => {
  for (const [name, { bytes: given, label, text: shown }] of Object.entries(charsets())) {
    assert.equal(decoded(Uint8Array.from(Buffer.from(given, "hex")), label), shown, name);
  }
});

test("plain text stays as it is", async () => {
  for (const plain of ["", MARKED, "word ".repeat(9999), "ACGT".repeat(99), `{"a": ${"[".repeat(9999)}`, ...plainTexts()]) {
    assert.equal(await wordsOf(plain), plain);
  }
  for (const odd of [Uint8Array.of(0xff, 0xfe, 0), bytes("a\0b"), Uint8Array.of(0x80)]) await assert.rejects(openDocument(odd), refused("not-text"));
});

test("what a page hides and what breaks it", async () => {
  for (const [page, words] of Object.entries(pages())) assert.equal(await wordsOf(`<!doctype html>${page}`), words, page);
});

test("bombs, loops and lies are refused", async () => {
  const zeros = new Uint8Array(80 * 2 ** 20);
  const broken = refused("document-refused");
  const part = (content, lies) => zip({ "[Content_Types].xml": "<Types/>", "word/document.xml": content }, lies);
  await assert.rejects(openDocument(part(zeros)), refused("document-refused", /as bombs are/));
  await assert.rejects(openDocument(part(zeros, { size: 9 })), refused("document-refused", /as bombs are/));
  await assert.rejects(openDocument(part("<a/>", { flags: 1 })), refused("document-refused", /password/));
  await assert.rejects(openDocument(part("<a/>", { method: 99 })), broken);
  assert.equal(await wordsOf(part("<a><p><t>b</t></p></a>", { size: 2 ** 30 })), "b"); // what a header declares decides nothing
  assert.equal(await wordsOf(part("<a><p><t>b</t></p></a>", { method: 0 })), "b");
  await assert.rejects(openDocument(part('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')), refused("document-refused", /DTD/));
  await assert.rejects(openDocument(part("<a>".repeat(9999))), broken);
  await assert.rejects(openDocument(part("<a b='")), broken);
  await assert.rejects(openDocument(part("<a></b>")), broken);
  await assert.rejects(openDocument(zip(Object.fromEntries(Array.from({ length: 2001 }, (_, i) => [`a${i}`, ""])))), broken);
  let deep = mail("text/plain", "7bit", "words");
  for (let i = 0; i < 20; i++) deep = mail("message/rfc822", "7bit", deep);
  await assert.rejects(openDocument(bytes(deep)), broken);
  await assert.rejects(openDocument(bytes(parts("mixed", ...Array(3000).fill(["text/plain", "7bit", "a"])))), broken);
  let packed = bytes("words ".repeat(50));
  for (let i = 0; i < 9; i++) packed = bytes(base64(packed));
  await assert.rejects(openDocument(packed), broken);
  await assert.rejects(openDocument(bytes(`<!doctype html>${"<script>".repeat(2 ** 18)}`)), (error) => error.reason === "script");
});

/** Each of these takes hours where a step is not linear. */
test("long runs cost no more than their length", async () => {
  const many = 2 ** 18;
  const page = (inner) => `<!doctype html>${inner}`;
  for (const run of ["<a ", "<", "<a \"", "<a b='", "<!--", "</", "&", "<pre>", "<svg>", " ", "<p style=\"", "<p hidden>", "<svg><text>"]) await wordsOf(page(run.repeat(many)));
  for (const run of ['"', "\\\"", '":"', "'", "`", '="&quot;']) await wordsOf(page(`<p>${"Words ".repeat(20)}</p><script>${run.repeat(many)}`));
  for (const run of [" ", "=\n", "a;", "--=_x\n", "= ", "begin 644 a\nA\n"]) await wordsOf(mail('text/plain; charset="utf-8"', "quoted-printable", `${run.repeat(many)}x`));
  await wordsOf(`${"Ab3".repeat(99)}${" ".repeat(many)}!`);
  await wordsOf(`${"Name: value\r\n".repeat(300)}no header`);
  await wordsOf(`Mime-Version: a\nName:${";a=b".repeat(many)}\n\nwords`);
  await wordsOf(`From a@b Thu\nDate: 2 Nov 10:00:00 GMT\n\n${"From Thu ".repeat(many)}`);
  for (const run of ["\r", "--a\n", "[", "12", "}} {", 'a {"b":c}\n']) await wordsOf(run.repeat(many));
});

test("a file with any byte changed is read or refused", async () => {
  let seed = 7;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  for (const [name, { file }] of Object.entries(documents())) {
    for (let i = 0; i < 20; i++) {
      const changed = made(file);
      for (let times = 1 + random(3); times > 0; times--) changed[random(changed.length)] = random(256);
      const cut = random(4) ? changed : changed.subarray(0, random(changed.length));
      try {
        await openDocument(cut);
      } catch (error) {
        assert.ok(error instanceof Refusal, `${name}: ${error.stack}`);
      }
    }
  }
});
