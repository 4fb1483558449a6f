/** 5.3 Proxy files: how a GGUF file's tokenizer and tensors become bytes. */
import { sha256, u32, u64, utf8 } from "./bytes.js";

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
  for (const name of Object.keys(tensors).sort((a, b) => Buffer.compare(utf8(a), utf8(b)))) {
    const { shape, elements } = tensors[name];
    const values = Buffer.alloc(4 * elements.length);
    elements.forEach((element, i) => values.writeFloatLE(element, 4 * i));
    parts.push(u32(utf8(name).length), utf8(name), u32(shape.length), ...shape.map(u64), values);
  }
  return sha256(...parts);
}
