/** What one file may cost: a page has seconds, and the memory of a phone. */
import { joined } from "../bytes.js";
import { require } from "../refusal.js";
import { sound } from "./refused.js";

/** Bytes of a file, which has pictures too. */
export const FILE = 64 * 2 ** 20;
/** Bytes that are read for their words. A book of 500 pages has ten million. */
export const READ = 24 * 2 ** 20;
/** A part that is unpacked to more than so many times its size, and to more than `SMALL` bytes, is a bomb. */
const [RATIO, SMALL] = [200, 2 ** 20];
/** Parts of a file. */
export const MEMBERS = 2000;
/** Elements inside elements, parts of a mail inside parts. */
export const [NESTING, DEPTH] = [200, 6];
/** Characters of all words of a file. */
export const WORDS = 4 * 2 ** 20;

/** What may still be unpacked from a file. */
export class Budget {
  constructor() {
    [this.bytes, this.members] = [READ, MEMBERS];
  }

  /** The bytes of a stream that unpacks as it is read, of so many packed bytes. */
  async unpack(stream, packed) {
    const parts = [];
    let length = 0;
    const reader = stream.getReader();
    try {
      for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
        length += value.length;
        sound(length <= Math.max(SMALL, RATIO * packed), "bomb", `a part is unpacked to more than ${RATIO} times its size, as bombs are`);
        sound(length <= this.bytes, "large", "more is packed in it than is opened at once");
        parts.push(value);
      }
    } finally {
      reader.cancel().catch(() => {}); // what else is packed is never unpacked
    }
    this.read(length);
    return joined(parts);
  }

  /** Counts bytes that are read for their words. */
  read(length) {
    this.bytes -= length;
    require(this.bytes >= 0, "input-too-large", `more than ${READ} bytes of it would have to be read`);
  }

  /** Counts a part. */
  count() {
    this.members--;
    sound(this.members >= 0, "parts", `it has more than ${MEMBERS} parts`);
  }
}
