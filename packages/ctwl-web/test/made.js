/** Files made for tests: zips, and the documents that office programs write. */
import { crc32, deflateRawSync } from "node:zlib";

const bytes = (text) => (typeof text === "string" ? new TextEncoder().encode(text) : text);

const header = (...fields) => {
  const found = Buffer.alloc(fields.reduce((sum, [size]) => sum + size, 0));
  let at = 0;
  for (const [size, value] of fields) {
    found.writeUIntLE(value, at, size);
    at += size;
  }
  return found;
};

/** A zip of `{name: text or bytes}`; `lies` are fields of each entry that say something else: `size`, `flags`, `method`. */
export function zip(files, lies = {}) {
  const [parts, directory] = [[], []];
  let at = 0;
  for (const [name, content] of Object.entries(files)) {
    const data = bytes(content);
    const packed = lies.method === 0 ? data : deflateRawSync(data);
    const crc = crc32 ? crc32(data) : 0;
    const common = [
      [2, 20], [2, lies.flags ?? 0x800], [2, lies.method ?? 8], [4, 0], [4, crc], [4, packed.length], [4, lies.size ?? data.length],
      [2, bytes(name).length], [2, 0],
    ];
    const local = header([4, 0x04034b50], ...common);
    parts.push(local, bytes(name), packed);
    directory.push(header([4, 0x02014b50], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]), bytes(name));
    at += local.length + bytes(name).length + packed.length;
  }
  const listed = Buffer.concat(directory);
  const count = Object.keys(files).length;
  const end = header([4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, listed.length], [4, at], [2, 0]);
  return Uint8Array.from(Buffer.concat([...parts, listed, end]));
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const paragraphs = (text, made) => text.split("\n\n").map(made).join("");

export const docx = (text, more = "") =>
  zip({
    "[Content_Types].xml": "<Types/>",
    "word/document.xml": `<?xml version="1.0"?><w:document xmlns:w="w"><w:body>${paragraphs(text, (each) => {
      const [first, ...rest] = escaped(each).split(" ");
      return `<w:p><w:pPr><w:tabs><w:tab w:val="x"/></w:tabs></w:pPr><w:r><w:t>${first}</w:t></w:r><w:del><w:r><w:delText>no</w:delText></w:r></w:del>` +
        `<w:r><w:t xml:space="preserve"> ${rest.join(" ")}</w:t></w:r></w:p>`;
    })}${more}</w:body></w:document>`,
  });

export const odt = (text) =>
  zip({
    mimetype: "application/vnd.oasis.opendocument.text",
    "content.xml": `<office:document-content><office:body><text:tracked-changes><text:p>gone</text:p></text:tracked-changes>${paragraphs(
      text,
      (each) => `<text:p>${escaped(each).replace(" ", "<text:s/>").replace(/of/, "<text:span>of</text:span>")}<office:annotation><text:p>no</text:p></office:annotation></text:p>`,
    )}</office:body></office:document-content>`,
  });

export const html = (text) =>
  `<!DOCTYPE html><html><head><title>No</title><style>p { color: red }</style></head><body><script>"<p>no"</script>` +
  `<!-- <p>no</p> --><p hidden>no</p><p style="color: red; display: none">no</p>${paragraphs(text, (each) => `<p class="a hidden b" title='a > b'>${escaped(each).replace("of", "<b>of</b>").replace("'", "&#39;")}\n`)}</body></html>`;

export const epub = (text) => {
  const [first, ...rest] = text.split("\n\n");
  return zip({
    mimetype: "application/epub+zip",
    "META-INF/container.xml": '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
    "OEBPS/book.opf":
      '<package><manifest><item id="b" href="text/two.xhtml"/><item id="a" href="text/o%20ne.xhtml"/></manifest>' +
      '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>',
    "OEBPS/text/o ne.xhtml": html(first),
    "OEBPS/text/two.xhtml": html(rest.join("\n\n")),
  });
};

const said = (text) => paragraphs(text, (each) => `<w:p><w:r><w:t xml:space="preserve">${escaped(each)}</w:t></w:r></w:p>`);

/** A document of Office that is one file, with a part that is not read. */
const flatOffice = (text) =>
  '<?xml version="1.0"?>\n<?mso-application progid="Word.Document"?>\n<pkg:package xmlns:pkg="p">' +
  Object.entries({ comments: said("no"), document: said(text) }).map(([name, part]) =>
    `<pkg:part pkg:name="/word/${name}.xml"><pkg:xmlData><w:body>${part}</w:body></pkg:xmlData></pkg:part>`).join("") + "</pkg:package>";

const fb2 = (text) => "<FictionBook><description><p>no</p></description><body><section>" +
  `${paragraphs(text, (each) => `<p>${escaped(each)}</p>`)}</section></body><binary id="a">QUJD</binary></FictionBook>`;

/** What nobody sees in it: a run, a style's words, a section, a picture and its description. */
const unseen = (text) =>
  '<office:document xmlns:office="o"><style:style style:name="T1"><style:text-properties text:display="none"/></style:style>' +
  paragraphs(text, (each) => `<text:p>${escaped(each)}<text:span text:style-name="T1">no</text:span><draw:frame><office:binary-data>QUJD</office:binary-data>` +
    "<svg:desc>no</svg:desc></draw:frame><text:hidden-text>no</text:hidden-text></text:p>") +
  '<text:section text:display="none"><text:p>no</text:p></text:section></office:document>';

const TYPES = { "[Content_Types].xml": "<Types/>" };

/** Its text is a page that Word puts into it when it is opened. */
export const chunks = (text, part = "document") =>
  zip({
    ...TYPES,
    "word/document.xml": "<w:document/>",
    [`word/_rels/${part}.xml.rels`]: '<Relationships><Relationship Type="http://x/aFChunk" Target="a%201.html"/></Relationships>',
    "word/a 1.html": html(text),
  });

const diagram = (text) => zip({
  ...TYPES,
  "ppt/diagrams/data1.xml": `<d:ptLst>${paragraphs(text, (each) => `<d:pt><d:t><a:p><a:t>${escaped(each)}</a:t></a:p></d:t></d:pt>`)}</d:ptLst>`,
});

/** A document whose words are in another part. */
const withPart = (name, part) => zip({ ...TYPES, "word/document.xml": "<a/>", [name]: part });

/** The same of OpenDocument. */
const ofOpenDocument = (name, text) =>
  zip({ mimetype: "", "content.xml": "<a/>", [name]: `<a><b>${paragraphs(text, (each) => `<text:p>${escaped(each)}</text:p>`)}</b></a>` });

/** Quoted-printable, in lines of at most 76 characters. */
export const quoted = (text) =>
  text.split(/\r?\n/).map((line) => {
    const codes = Array.from(bytes(line), (byte) => (byte === 61 || byte > 126 ? `=${byte.toString(16).toUpperCase()}` : String.fromCharCode(byte)));
    let [found, width] = ["", 0];
    for (const code of codes) {
      if (width + code.length > 75) [found, width] = [`${found}=\r\n`, 0];
      found += code;
      width += code.length;
    }
    return found;
  }).join("\r\n");

export const base64 = (data) => Buffer.from(bytes(data)).toString("base64").replace(/.{76}/g, "$&\r\n");

const HEAD = "Received: by example.com\r\n\tfor people\r\nDate: Mon, 2 Nov 2026 10:00:00 +0000\r\nMIME-Version: 1.0\r\n";

export const mail = (type, encoding, body) => `${HEAD}Content-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}\r\n`;

export const parts = (kind, ...all) => {
  const inner = all.map(([type, encoding, body, more = ""]) => `--=_x\r\nContent-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\n${more}\r\n${body}\r\n`);
  return `${HEAD}Content-Type: multipart/${kind};\r\n boundary="=_x"\r\n\r\nFor old programs.\r\n${inner.join("")}--=_x--\r\n`;
};

const flowed = (text) => text.replace(/(.{50,60}) /g, "$1 \r\n");

/** A text in files of many kinds, by their names. */
export const files = (text) => ({
  docx: docx(text),
  "docx of chunks": chunks(text),
  "docx of chunks of a head": chunks(text, "header1"),
  "a diagram": diagram(text),
  odt: odt(text),
  "a flat document with what nobody sees": unseen(text),
  "a flat document of Office": flatOffice(text),
  "an older flat document of Office": `<w:wordDocument>${said(text)}</w:wordDocument>`,
  "the head of a page of OpenDocument": ofOpenDocument("styles.xml", text),
  "a chart of OpenDocument": ofOpenDocument("Object 1/content.xml", text),
  fb2: fb2(text),
  "a document in a document": withPart("word/embeddings/a.docx", docx(text)),
  "the head of a page": withPart("word/header2.xml", `<a>${said(text)}</a>`),
  "a chart": withPart("word/charts/chart1.xml", `<a>${said(text)}</a>`),
  epub: epub(text),
  html: html(text),
  "utf-16": Uint8Array.from([0xff, 0xfe, ...Buffer.from(text, "utf16le")]),
  "quoted-printable": quoted(text),
  "base64 of a document": base64(docx(text)),
  "a mail": mail("text/plain; charset=utf-8", "8bit", text.replaceAll("\n", "\r\n")),
  "a mail in quoted-printable": mail('text/plain; charset="utf-8"', "quoted-printable", quoted(text)),
  "a mail in base64": mail("text/plain; charset=UTF-8", "BASE64", base64(text)),
  "a mail in HTML": mail("text/html; charset=utf-8", "quoted-printable", quoted(html(text))),
  "a mail whose lines flow": mail("text/plain; charset=utf-8; format=flowed", "8bit", flowed(text)),
  "a mail of alternatives": parts("alternative", ["text/plain; charset=utf-8", "base64", base64(text)], ["text/html", "8bit", "<p>no</p>"]),
  "an answer that was streamed": text.match(/[^]{1,7}/g).map((piece) => `data: ${JSON.stringify({ id: 1, choices: [{ delta: { content: piece } }] })}\n\n`).join("") + "data: [DONE]\n",
  "a conversation": JSON.stringify([{ role: "user", content: "no" }, { role: "assistant", content: [{ type: "text", text }] }]),
  "a conversation in lines": [["user", "no"], ["assistant", text]].map(([role, content]) => JSON.stringify({ role, content })).join("\n"),
  "a conversation with versions": JSON.stringify({ messages: [
    { versions: [{ role: "user", content: [{ type: "text", text: "no" }] }] },
    { versions: [{ role: "assistant", steps: [{ type: "contentBlock", content: [{ type: "text", text }] }] }] },
  ] }),
  "a conversation with an editor": JSON.stringify({ requests: [{ message: { text: "no" }, response: [{ kind: "toolInvocation", value: "no" }, { value: text }] }] }),
  "an answer in its question": JSON.stringify({ messages: [{ isCreatedByUser: true, text: "no", children: [{ sender: "m", isCreatedByUser: false, text }] }] }),
  "a document that a tool was given": JSON.stringify([{ sender: "human", text: "no" }, { sender: "assistant", content: [{ type: "tool_use", input: { title: "no", content: text } }] }]),
  "a request and its response": JSON.stringify({ request: { messages: [{ role: "user", content: "no" }] }, response: JSON.stringify({ choices: [{ message: { role: "assistant", content: text } }] }) }),
  "a stream of parts": `g:"no no no "\n${text.match(/[^]{1,7}/g).map((piece) => `0:${JSON.stringify(piece)}\n`).join("")}e:{}\n`,
  "a stream of a stranger": text.match(/[^]{1,7}/g).map((piece, i) => `${JSON.stringify({ n: `${i}`, a: [{ b: piece }] })}\n`).join(""),
  "a notebook": JSON.stringify({ nbformat: 4, cells: [{ cell_type: "code", source: "no" }, { cell_type: "markdown", source: [text] }] }),
  ...Object.fromEntries(Object.entries({ base64, "quoted-printable": quoted }).map(([name, packed]) => [
    `a mail that was passed on in ${name}`, parts("mixed", ["message/rfc822", name, packed(mail("text/plain; charset=utf-8", "base64", base64(text)))]),
  ])),
  "a mail that was passed on": parts("mixed", ["message/rfc822", "8bit", mail("text/plain; charset=utf-8", "base64", base64(text))]),
});
