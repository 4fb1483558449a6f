/** Zip files: the directory, and members by their names. Sizes are counted as they come; what a header declares bounds nothing. */
import { Refusal } from "../refusal.js";
import { MEMBERS } from "./budget.js";
import { DocumentRefused, sound } from "./refused.js";

const [END, ENTRY, LOCAL] = [0x06054b50, 0x02014b50, 0x04034b50];
/** The end of the directory has so many bytes, and a comment of at most so many more. */
const [END_BYTES, COMMENT] = [22, 0xffff];
const [STORED, DEFLATED, LOCKED] = [0, 8, 1];
const SLICE = 2 ** 13;

/** The members of a zip file, by name: `{method, locked, packed, at}`, where `at` is the place of the local header. */
export function directoryOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = endOf(view);
  sound(end >= 0, "broken", "the zip file is broken: it has no directory");
  const [entries, size, declared] = [view.getUint16(end + 10, true), view.getUint32(end + 12, true), view.getUint32(end + 16, true)];
  const shift = end - size - declared; // what stands before the archive
  sound(shift >= 0, "broken", "the zip file is broken: its directory is not where it should be");
  sound(entries <= MEMBERS, "parts", `it has more than ${MEMBERS} parts`);
  const members = new Map();
  let at = end - size;
  for (let i = 0; i < entries; i++) {
    sound(at + 46 <= end && view.getUint32(at, true) === ENTRY, "broken", "the zip file is broken: its directory ends too early");
    const [name, extra, comment] = [28, 30, 32].map((place) => view.getUint16(at + place, true));
    sound(at + 46 + name + extra + comment <= end, "broken", "the zip file is broken: its directory ends too early");
    members.set(new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + name)), {
      locked: (view.getUint16(at + 8, true) & LOCKED) !== 0,
      method: view.getUint16(at + 10, true),
      packed: view.getUint32(at + 20, true),
      at: view.getUint32(at + 42, true) + shift,
    });
    at += 46 + name + extra + comment;
  }
  return members;
}

function endOf(view) {
  const last = view.byteLength - END_BYTES;
  for (let at = last; at >= Math.max(0, last - COMMENT); at--) if (view.getUint32(at, true) === END) return at;
  return -1;
}

/** Bytes in small slices: a browser unpacks each as a whole, to a thousand times its size, before it can be stopped. */
function slices(bytes) {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at < bytes.length) controller.enqueue(bytes.slice(at, (at += SLICE)));
      else controller.close();
    },
  });
}

/** The bytes of a member; refused as `document-refused` where it is missing, broken or locked, or costs too much. */
export async function member(bytes, directory, name, budget) {
  budget.count();
  const found = directory.get(name);
  sound(found, "broken", `it has no part ${name.slice(0, 80)}, so it is broken`);
  const { method, locked, packed, at } = found;
  sound(!locked, "locked", "it is locked by a password");
  sound(method === STORED || method === DEFLATED, "broken", "it is packed in a way that is not read");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const isThere = at + 30 <= bytes.length && view.getUint32(at, true) === LOCAL;
  sound(isThere, "broken", "the zip file is broken: a part is not where it should be");
  const start = at + 30 + view.getUint16(at + 26, true) + view.getUint16(at + 28, true);
  sound(start + packed <= bytes.length, "broken", "the zip file is broken: it ends too early");
  const stream = slices(bytes.subarray(start, start + packed));
  try {
    return await budget.unpack(method === STORED ? stream : stream.pipeThrough(new DecompressionStream("deflate-raw")), packed);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new DocumentRefused("broken", `a part of it is broken: ${error.message}`);
  }
}
