/** The words in the files that people have, and what attackers send. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decoded } from "../src/documents/html.js";
import { KINDS } from "../src/documents/kinds.js";
import { openDocument } from "../src/documents/open.js";
import { NotOpened } from "../src/documents/refused.js";
import { Refusal } from "../src/index.js";
import { base64, docx, files, mail, parts, zip } from "./made.js";
import { charsets, chats, pages, plainTexts, text } from "./folder.js";

const MARKED = text("packages/ctwl-web/page/examples/marked.txt").trim();
const CURLY = `${MARKED.replaceAll("library", "“library”")} Größe & <b>`;
const bytes = (given) => (typeof given === "string" ? new TextEncoder().encode(given) : given);
const wordsOf = async (given) => (await openDocument(bytes(given))).text;
const refused = (status, said = /./) => (error) => error instanceof Refusal && error.status === status && said.test(error.message);

const FILES = files(CURLY);

for (const [name, file] of Object.entries(FILES)) {
  test(`the words of ${name} are the text`, async () => assert.equal((await wordsOf(file)).replaceAll("\r\n", "\n"), CURLY));
}

test("charsets of mail, and mails in a file of several", async () => {
  const old = Buffer.from(mail("text/plain; charset=iso-8859-15", "8bit", "Gr\xf6\xdfe \xa4"), "latin1");
  assert.equal(await wordsOf(Uint8Array.from(old)), "Größe €");
  assert.equal(await wordsOf(mail("text/plain; charset=unknown", "8bit", "words")), "words");
  const passed = `X-Passed: ${"far ".repeat(400)}\r\n`.repeat(20); // through many servers
  assert.equal(await wordsOf(passed + mail("text/plain", "base64", base64("words"))), "words");
  const digest = `Date: x\nContent-Type: multipart/digest; boundary=b\n\n--b\n\n${mail("text/plain", "base64", base64("words"))}\n--b--\n`;
  assert.equal(await wordsOf(digest), "words");
  const one = (words) => `From a@b Mon Nov 2\n${mail("text/plain", "7bit", words).replaceAll("\r\n", "\n")}\n`;
  assert.equal(await wordsOf(one("first") + one("second")), "first\n\nsecond");
  const patch = (words) => `From 1a2b Mon Sep 17 00:00:00 2001\nFrom: Ann <a@b.c>\nDate: Thu, 26 Nov 2026 10:00:00 +0000\nSubject: [PATCH] A\n\n${words}\n`;
  assert.equal(await wordsOf(patch("Why.\n---\n+new") + patch("Then.")), "Why.\n---\n+new\n\nThen.");
});

test("a mail is one whatever programs write around it, and whatever its headers and line ends are", async () => {
  const sent = mail("text/plain", "base64", base64("Größe of words")).replaceAll("\r\n", "\n");
  const size = Buffer.byteLength(sent);
  const written = [`\ufeff${sent}`, `\n\n${sent}`, `X-Spam_score: 1\nX-A.b: 2\n${sent}`, `${"X".repeat(200)}: 1\n${sent}`];
  written.push(`${size}      \n${sent}<?xml version="1.0"?><plist/>`, `\ufeffFrom a Thu Nov 26\n${sent}`, sent.replaceAll("\n", "\r"));
  written.push(sent.replaceAll("\n", "\r\r\n"), `Content-Transfer-Encoding: base64\n\n${base64("Größe of words")}`);
  written.push(`In many parts.\n--=_x\nContent-Transfer-Encoding: base64\n\n${base64("Größe of words")}\n--=_x--\n`);
  for (const each of written) assert.equal(await wordsOf(each), "Größe of words", each);
  assert.equal(await wordsOf(mail("text/plain", "x-uuencode", "begin 644 a.txt\n/1W+#ML.?92!O9B!W;W)D\n`\nend\n")), "Größe of word");
});

test("a line of a mail that begins as one before a mail begins none", async () => {
  const words = "First words.\n\nFrom Monday on we meet.\nPlace: Room 1";
  assert.equal(await wordsOf(`From: a@b\nDate: 2 Nov 2026 10:00:00 +0000\n\n${words}`), words);
  assert.equal(await wordsOf(`From a@b Mon Nov 2\nDate: 2 Nov 2026 10:00:00 GMT\n\n${words}`), words);
});

test("of alternatives the words are chosen, and what is attached in any is named", async () => {
  const placed = 'Content-Disposition: attachment; filename="a.docx"\r\n';
  const mixed = parts("mixed", ["text/html", "7bit", "<p>words</p>"], ["application/a", "7bit", "x", placed]).replaceAll('"b"', '"c"').replace(/^--b/gm, "--c");
  const head = 'Date: x\nContent-Type: multipart/alternative; boundary="b"\n\n--b\n\nwords\n--b\nContent-Type: text/x-amp-html\n\nwords\n';
  const found = await openDocument(bytes(`${head}--b\nContent-Type: text/calendar\n\nBEGIN\n--b\n${mixed}\n--b--\n`));
  assert.deepEqual([found.text, found.left], ["words", ["text/calendar", "a.docx"]]);
});

test("a charset is what the bytes are, before what a label says", () => {
  for (const [name, { bytes: given, label, text: shown }] of Object.entries(charsets())) {
    assert.equal(decoded(Uint8Array.from(Buffer.from(given, "hex")), label), shown, name);
  }
});

test("subtitles are one paragraph, and other JSON is plain text", async () => {
  const cues = ["A text", "in {\\an8}two <i>lines</i>"].map((words, i) => `${i + 1}\r\n00:00:0${i},000 --> 00:00:0${i},500\r\n${words}\r\n\r\n`);
  assert.equal(await wordsOf(cues.join("")), "A text in two lines");
  assert.equal(await wordsOf("WEBVTT\n\nNOTE no\n\n00:01.000 --> 00:02.000\nwords\n"), "words");
  for (const plain of ['{"a": "b"}', '{"a": [', `{"a": ${"[".repeat(9999)}`]) assert.equal(await wordsOf(plain), plain);
});

test("messages of people are never read for a model's", async () => {
  const asked = { role: "user", content: "A question." };
  for (const chat of [[asked], [asked, { whatever: { phrase: "An answer." } }], { req: { messages: [asked] }, res: { phrase: "An answer." } }]) {
    await assert.rejects(openDocument(bytes(JSON.stringify(chat))), (error) => error.reason === "people");
  }
});

test("a stream whose pieces have lost the spaces between words is refused", async () => {
  const line = MARKED.split("\n")[0];
  const streams = [(piece) => JSON.stringify({ choices: [{ delta: { content: piece } }] }), (piece) => piece].map((record) => (piece) => `data:${record(piece)}\n\n`);
  for (const record of [...streams, (piece) => `0:${JSON.stringify(piece)}\n`]) {
    const stream = (...pieces) => openDocument(bytes(pieces.map(record).join("")));
    await assert.rejects(stream(...line.split(" ")), (error) => error.reason === "spaces");
    assert.equal((await stream(...line.match(/.{1,9}/g))).text, line);
    assert.equal((await stream(..."\u0e20\u0e32\u0e29\u0e32".repeat(9))).text.includes("\u0e20"), true);
  }
});

for (const [name, { file, words, beside }] of Object.entries(chats())) {
  test(`${name}: the words are read, and those beside them named`, async () => {
    const { text: read, left } = await openDocument(bytes(file));
    assert.deepEqual([read, left], [words, Object.keys(beside)]);
  });
}

test("what is long beside the messages is named", async () => {
  const long = Array.from({ length: 40 }, (_, n) => `word${n}`).join(" ");
  const said = { role: "assistant", content: "Yes." };
  const open = async (chat) => openDocument(bytes(JSON.stringify(chat)));
  for (const [chat, text, left] of [
    [[{ role: "user", content: long }, said, { document: { body: long.toUpperCase() } }], "Yes.", ["other texts"]],
    [[said, { system_prompt: long }], "Yes.", []],
    [[{ author: { name: "gpt-4o-mini" }, content: "Yes." }, { author: "Ann", content: long }], "Yes.", []],
    [{ choices: [{ index: 0, text: "One." }, { index: 1, text: "Two." }] }, "One.\n\nTwo.", []],
  ]) {
    const found = await open(chat);
    assert.deepEqual([found.text, found.left], [text, left]);
  }
});

test("a stream holds several answers, calls and cut characters", async () => {
  const record = (index, delta) => `data: ${JSON.stringify({ id: "x", choices: [{ index, delta }] })}\n\n`;
  const given = JSON.stringify({ path: "a.txt", text: "one two three four five six seven eight" });
  const calls = [given.slice(0, 30), given.slice(30)].map((part) => ({ index: 0, function: { arguments: part } }));
  const stream = record(0, { content: "One \ud83d" }) + record(1, { content: "Two" }) + record(0, { content: "\ude00." });
  const whole = stream + calls.map((call) => record(0, { tool_calls: [call] })).join("");
  assert.equal(await wordsOf(whole), "One \u{1f600}.\n\nTwo\n\none two three four five six seven eight");
});

test("a notebook shows what its code gave", async () => {
  for (const [data, words] of [
    [{ "text/plain": "<Markdown object>", "text/markdown": "An answer." }, "An answer."],
    [{ "text/plain": "<HTML object>", "text/html": "<p>An <b>answer</b>.</p>" }, "An answer."],
    [{ "text/plain": "   a\n0  1", "text/html": "<table><td>1</table>" }, "   a\n0  1"],
  ]) {
    const cell = { cell_type: "code", source: "", outputs: [{ data }] };
    assert.equal(await wordsOf(JSON.stringify({ nbformat: 4, cells: [cell] })), words);
  }
});

test("what of a mail is not read is named", async () => {
  const placed = 'Content-Disposition: attachment; filename="a b.pdf"\r\n';
  const found = await openDocument(bytes(parts("mixed", ["text/plain", "7bit", "words"], ["application/pdf", "base64", "JVBERi0=", placed])));
  assert.deepEqual([found.text, found.left], ["words", ["a b.pdf"]]);
  const between = await openDocument(bytes(mail("text/plain", "7bit", "words\r\nbegin 644 a b.txt\r\n#86)C\r\n`\r\nend")));
  assert.deepEqual([between.text, between.left], ["words", ["a b.txt"]]);
});

test("a book with a missing chapter and a doctype is read, and the gap named", async () => {
  const opf = '<!DOCTYPE package PUBLIC "a" "http://example.org/a.dtd"><package><manifest><item id="a" href="a.xhtml"/><item id="b" href="b.xhtml"/></manifest>' +
    '<spine><itemref idref="a"/><itemref idref="b"/><itemref idref="c"/></spine></package>';
  const book = { "META-INF/container.xml": '<a><rootfile full-path="O/a.opf"/></a>', "O/a.opf": opf, "O/b.xhtml": "<p>Words</p>" };
  const { text: words, left } = await openDocument(zip(book));
  assert.deepEqual([words, left.sort()], ["Words", ["O/a.xhtml", "c"]]);
});

test("a chapter to which only links lead is read last, and a wide one is read", async () => {
  const item = (name, more = "") => `<item id="${name}" href="${name}" media-type="application/xhtml+xml" ${more}/>`;
  const manifest = `${item("a")}${item("b")}<item id="d" href="b#top"/>${item("c", 'properties="nav"')}`;
  const book = {
    "META-INF/container.xml": '<a><rootfile full-path="a.opf"/></a>',
    "a.opf": `<package><manifest>${manifest}</manifest><spine><itemref idref="d"/></spine></package>`,
    a: "<p>One</p>", b: Uint8Array.from([0xff, 0xfe, ...Buffer.from("<p>Two</p>", "utf16le")]),
  };
  assert.equal(await wordsOf(zip(book)), "Two\n\nOne");
});

test("a picture that is a chapter is named", async () => {
  const opf = '<package><manifest><item id="a" href="a" media-type="image/png"/><item id="b" href="b"/></manifest><spine><itemref idref="a"/><itemref idref="b"/></spine></package>';
  const book = { "META-INF/container.xml": '<a><rootfile full-path="a.opf"/></a>', "a.opf": opf, a: "\x89PNG", b: "<p>Words</p>" };
  const { text: words, left } = await openDocument(zip(book));
  assert.deepEqual([words, left], ["Words", ["a"]]);
});

test("a drawing is a chapter, a table of contents is none, and an encrypted one is named", async () => {
  const contents = "<html><nav><p>no</p></nav><p>Beside it</p></html>";
  const opf = '<package><manifest><item id="a" href="a.svg" media-type="image/svg+xml"/><item id="b" href="b" properties="nav"/><item id="c" href="c%201"/></manifest>' +
    '<spine><itemref idref="a"/><itemref idref="b"/><itemref idref="c"/></spine></package>';
  const book = {
    "META-INF/container.xml": '<a><rootfile full-path="O/a.opf"/></a>', "O/a.opf": opf, "O/b": contents, "O/c 1": contents,
    "O/a.svg": "<svg><title>no</title><text>On a <tspan>drawing</tspan></text></svg>",
    "META-INF/encryption.xml": '<a><CipherReference URI="O/c%201"/></a>',
  };
  const { text: words, left } = await openDocument(zip(book));
  assert.deepEqual([words, left], ["On a drawing\n\nBeside it", ["O/c 1"]]);
});

test("words of Word that nobody sees are not read, and a broken document in a document is named", async () => {
  const run = (more) => `<w:p><w:r><w:rPr>${more}</w:rPr><w:t>more</w:t></w:r></w:p>`;
  assert.equal(await wordsOf(docx("one", run("<w:vanish/>"))), "one");
  for (const seen of ['<w:vanish w:val="0"/>', "<w:rPrChange><w:rPr><w:vanish/></w:rPr></w:rPrChange>"]) assert.equal(await wordsOf(docx("one", run(seen))), "one\n\nmore");
  const inner = "word/embeddings/a.docx";
  const outer = zip({ "[Content_Types].xml": "<Types/>", "word/document.xml": "<a><p><t>Words</t></p></a>", [inner]: docx("no").subarray(0, 200) });
  const { text: words, left } = await openDocument(outer);
  assert.deepEqual([words, left], ["Words", [inner]]);
});

test("parts of an office document are known by their types, whatever their names are", async () => {
  const types = { a: "wordprocessingml.header", b: "wordprocessingml.footnotes", "c 1": "drawingml.diagramData", d: "wordprocessingml.document.main", no: "wordprocessingml.comments" };
  const said = Object.entries(types).map(([name, type]) => `<Override PartName="/word/${encodeURI(name)}" ContentType="application/vnd.openxmlformats-officedocument.${type}+xml"/>`);
  const told = Object.keys(types).map((name) => [`word/${name}`, `<a><p><t>${name}</t></p></a>`]);
  const made = { "[Content_Types].xml": `<Types>${said.join("")}</Types>`, ...Object.fromEntries(told), "word/e/f.docx": docx("f") };
  assert.equal(await wordsOf(zip(made)), "d\n\nc 1\n\nb\n\na\n\nf");
});

test("breaks of an office document are breaks of the text", async () => {
  const more = "<w:p/><w:p><w:r><w:t>a</w:t><w:br/><w:t>b</w:t><w:tab/><w:t>c</w:t></w:r></w:p>";
  assert.equal(await wordsOf(docx("one\n\ntwo", more)), "one\n\ntwo\n\na\nb\tc");
});

/** A file of a kind by what shows it. */
function shown({ begins, bytes: magic, members, xml }) {
  if (members) return zip(Object.fromEntries(members.map((name) => [name.replace(/\/$/, "/a.xml"), ""])));
  if (begins) return `${begins[0]}\nwords\n`;
  if (!magic) return `<${/\w+(?::\w+)?/.exec(xml)[0]}>words`;
  const [characters, place] = magic[0];
  return Uint8Array.from(Buffer.from(`${" ".repeat(place)}${characters}\0words`, "latin1"));
}

const PLIST = '<?xml version="1.0"?>\n<!DOCTYPE plist PUBLIC "-//a//DTD PLIST 1.0//EN" "http://a/b.dtd">\n<plist version="1.0">\n<dict>\n';
/** What programs keep of a page or of a document elsewhere. */
const LINKS = [
  "https://example.org/a\n",
  "[{000214A0-0000-0000-C000-000000000046}]\r\nProp3=19,11\r\n[InternetShortcut]\r\nURL=https://a.b\r\n",
  "[Desktop Entry]\nIcon=a\nType=Link\nURL=https://a.b\n",
  `${PLIST}\t<key>URL</key>\n\t<string>https://a.b</string>\n</dict>\n</plist>`,
  '{"":"WARNING! DO NOT EDIT THIS FILE!","doc_id":"1AbC","resource_key":"","email":"ann@example.org"}',
  '{"url": "https://docs.google.com/open?id=1", "doc_id": "1", "email": "ann@example.org"}\n',
];

test("kinds that are not opened are named", async () => {
  const made = { zip: zip({ "a.txt": "words" }), rtf: "{\\rtf1\\ansi words}", postscript: "%!PS-Adobe-3.0 EPSF-3.0\n(words) show" };
  made.drawing = `<mxfile host="a"><diagram name="b">${"7Vpb".repeat(20)}</diagram></mxfile>`;
  for (const [kind, row] of Object.entries(KINDS).filter(([, { advice }]) => advice)) {
    const opened = openDocument(bytes(made[kind] ?? shown(row)));
    await assert.rejects(opened, (error) => error instanceof NotOpened && error.status === "not-opened" && error.kind === kind);
  }
  for (const link of LINKS) await assert.rejects(openDocument(bytes(link)), (error) => error.kind === "link", link);
  await assert.rejects(openDocument(bytes(`${PLIST}<key>WebMainResource</key>`)), (error) => error.kind === "web-archive");
  await assert.rejects(openDocument(bytes(base64(Buffer.concat([Buffer.from("%PDF-1.7"), Buffer.alloc(200)])))), NotOpened);
});

test("plain text stays as it is", async () => {
  for (const plain of ["", MARKED, "word ".repeat(9999), "ACGT".repeat(99), ...plainTexts()]) {
    assert.equal(await wordsOf(plain), plain);
  }
  for (const odd of [Uint8Array.of(0xff, 0xfe, 0), bytes("a\0b"), Uint8Array.of(0x80)]) await assert.rejects(openDocument(odd), refused("not-text"));
});

test("what a page hides and what breaks it", async () => {
  for (const [page, words] of Object.entries(pages())) assert.equal(await wordsOf(`<!doctype html>${page}`), words, page);
  assert.equal(await wordsOf("<?xml version='1.0'?><html><script src='a'/><audio src='b'/><p>c</p></html>"), "c");
  assert.equal(await wordsOf("<?xml version='1.0'?><html><p><![CDATA[a > b &amp; <i>]]> c</p></html>"), "a > b &amp; <i> c");
});

test("a page whose words a script shows is refused", async () => {
  const told = `<script>show(${JSON.stringify(MARKED)})</script>`;
  for (const page of [`<a>Skip to content</a>${told}`, told, '<script src="a.js"></script>', "<script>".repeat(2 ** 18)]) {
    await assert.rejects(openDocument(bytes(`<!doctype html>${page}`)), (error) => error.reason === "script");
  }
  for (const page of ["<p>One</p><script>count()</script>", `<p>${"One ".repeat(99)}</p>${told}`]) {
    assert.match(await wordsOf(`<!doctype html>${page}`), /^One/);
  }
});

test("text that looks like quoted-printable stays as it is", async () => {
  const keys = `sha256-${"47DEQpj8".repeat(6)}=\n`.repeat(4);
  const rules = `One\n${`${"=".repeat(60)}\nTwo = 2\n`.repeat(4)}`;
  const program = `${"x".repeat(59)}=\n`.repeat(4) + "a=x\n";
  for (const plain of [rules, program, keys]) assert.equal(await wordsOf(plain), plain);
});

test("a part of a mail needs no headers, and base64 may go on behind its end", async () => {
  const two = 'Content-Type: multipart/mixed; boundary="b"\nDate: x\n\n--b\n\nOne\n\nTwo\n--b--\n';
  assert.equal(await wordsOf(two), "One\n\nTwo");
  assert.equal(await wordsOf(mail("text/plain", "base64", "T25lIA==VHdv")), "One Two");
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
  for (const [name, file] of Object.entries(FILES)) {
    for (let i = 0; i < 60; i++) {
      const changed = Uint8Array.from(bytes(file));
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
