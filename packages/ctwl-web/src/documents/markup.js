/**
 * XML, without what makes it dangerous: declarations in a DTD, by which a document multiplies itself. Browsers have a parser, and Node has
 * none; this one is for both, and takes linear time and no stack for any input.
 */
import { NESTING } from "./budget.js";
import { sound } from "./refused.js";

const LONGEST_TAG = 2 ** 16;
const TAG = /<(\/?)([^\s\/>"'<=]+)((?:[^>"']|"[^"]*"|'[^']*')*)>/y;
const LONGEST_DOCTYPE = 500;
/** A DTD that names a file, which is not read, and declares nothing itself. */
const DOCTYPE = /^<!DOCTYPE[^[<>]*>/;
const ATTRIBUTE = /([^\s=\/"']+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const REFERENCE = /&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));/g;
const NAMED = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

const local = (name) => name.slice(name.indexOf(":") + 1);

function plain(text) {
  if (!text.includes("&")) return text;
  return text.replace(REFERENCE, (whole, decimal, hexadecimal, named) => {
    if (named) return NAMED[named];
    const number = decimal ? Number(decimal) : parseInt(hexadecimal, 16);
    return number > 0 && number <= 0x10ffff && (number & 0x1ff800) !== 0xd800 ? String.fromCodePoint(number) : whole;
  });
}

/** Attributes by their local names. */
function attributesOf(written) {
  const found = {};
  for (const [, name, one, two] of written.matchAll(ATTRIBUTE)) found[local(name)] = plain(one ?? two);
  return found;
}

/**
 * Calls back for the elements of a document, by their local names, and for the text in them. Refused as
 * `document-refused` where it is broken, has declarations in a DTD, or too many elements inside elements.
 */
export function parse(xml, { start, end = () => {}, text = () => {} }) {
  const open = [];
  let at = 0;
  /** The place after the next `last`. */
  const after = (last, from) => {
    const found = xml.indexOf(last, from);
    sound(found >= 0, "broken", "a part of it is broken: it ends too early");
    return found + last.length;
  };
  for (let next = xml.indexOf("<"); next >= 0; next = xml.indexOf("<", at)) {
    if (next > at && open.length > 0) text(plain(xml.slice(at, next)));
    if (xml.startsWith("<!--", next)) at = after("-->", next + 4);
    else if (xml.startsWith("<?", next)) at = after("?>", next + 2);
    else if (xml.startsWith("<![CDATA[", next)) {
      at = after("]]>", next + 9);
      text(xml.slice(next + 9, at - 3));
    } else if (DOCTYPE.test(xml.slice(next, next + LONGEST_DOCTYPE))) at = after(">", next);
    else {
      sound(!xml.startsWith("<!", next), "dtd", "a part of it has a DTD, as attacks have");
      const [whole, closing, name, rest] = tagAt(xml, next);
      at = next + whole.length;
      if (closing) {
        sound(open.pop() === name, "broken", "a part of it is broken: elements do not end as they begin");
        end(local(name));
        continue;
      }
      start(local(name), attributesOf(rest));
      if (rest.endsWith("/")) end(local(name));
      else open.push(name);
      sound(open.length <= NESTING, "nested", `it has more than ${NESTING} elements inside elements, as no program writes`);
    }
  }
  sound(open.length === 0 && at > 0, "broken", "a part of it is broken: it ends too early");
}

function tagAt(xml, place) {
  TAG.lastIndex = 0;
  const found = TAG.exec(xml.slice(place, place + LONGEST_TAG));
  sound(found, "broken", "a part of it is broken: a tag does not end");
  return found;
}
