/** 5.3 Proxy files: how a GGUF file's tokenizer and tensors become bytes. */
import { compare, sha256, u32, u64, utf8 } from "../../../packages/ctwl-web/src/bytes.js";

/** The bytes of `vocab.json`: tokens in order of their ids, unescaped, no white space. */
export function vocabFile(tokens) {
  return utf8(`{${tokens.map((token, id) => `${JSON.stringify(token)}:${id}`).join(",")}}`);
}

/** The bytes of `merges.txt`: a header and one pair a line, each line ended by LF. */
export function mergesFile(merges) {
  return utf8(["#version: 0.2", ...merges].map((line) => `${line}\n`).join(""));
}

/** `tensors_sha256` of tensors by name: `{shape, elements}`, the elements row by row. */
export function tensorsDigest(tensors) {
  const parts = [];
  for (const name of Object.keys(tensors).sort((a, b) => compare(utf8(a), utf8(b)))) {
    const { shape, elements } = tensors[name];
    const view = new DataView(new ArrayBuffer(4 * elements.length));
    elements.forEach((element, i) => view.setFloat32(4 * i, element, true));
    parts.push(u32(utf8(name).length), utf8(name), u32(shape.length), ...shape.map(u64), new Uint8Array(view.buffer));
  }
  return sha256(...parts);
}
