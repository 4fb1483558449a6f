/** Files made for tests: those that documents.json has, zips and mails. */
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

/** The bytes of a file as documents.json has it: a text, a text in another charset, or a zip of such files. */
export function made(file) {
  if (typeof file === "string") return bytes(file);
  const [[form, held]] = Object.entries(file);
  if (form !== "zip") return Uint8Array.from(Buffer.from(held, form));
  return zip(Object.fromEntries(Object.entries(held).map(([name, each]) => [name, made(each)])));
}

export const base64 = (data) => Buffer.from(bytes(data)).toString("base64").replace(/.{76}/g, "$&\r\n");

const HEAD = "Received: by example.com\r\n\tfor people\r\nDate: Mon, 2 Nov 2026 10:00:00 +0000\r\nMIME-Version: 1.0\r\n";

export const mail = (type, encoding, body) => `${HEAD}Content-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}\r\n`;

export const parts = (kind, ...all) => {
  const inner = all.map(([type, encoding, body, more = ""]) => `--=_x\r\nContent-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\n${more}\r\n${body}\r\n`);
  return `${HEAD}Content-Type: multipart/${kind};\r\n boundary="=_x"\r\n\r\nFor old programs.\r\n${inner.join("")}--=_x--\r\n`;
};
