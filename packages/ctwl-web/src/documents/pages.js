/** Pages of HTML, and the texts that their scripts may show. */
import { unescaped } from "./chats.js";
import { plain, readPage, wordsOf } from "./html.js";
import { LONG, others, sizeOf } from "./prose.js";
import { sound } from "./refused.js";

/** A script, or data of one; not what is for search engines alone. */
const SCRIPT = /<script\b(?![^>]{0,200}ld\+json)[^]*?(?:<\/script|$)/gi;
/** A script that is no program, but a text, or a part of a page. */
const TEXT = /^<script[^>]{0,200}\btype\s*=\s*["']?text\/(?:html|markdown|plain|[\w-]*template)[^>]*>([^]*)/i;
/** Data that an element has for a script. */
const GIVEN = /="([^"]*&quot;[^"]*)"/g;
/** A string of a script; it matches at any quote, or time doubles. */
const STRING = /"[^"\\\n]*(?:\\[^][^"\\\n]*)*"?|'[^'\\\n]*(?:\\[^][^'\\\n]*)*'?|`[^`\\]*(?:\\[^][^`\\]*)*`?/g;
/** Shows that there are strings in a string. */
const DATA = /":|","/;
/** The end of a sentence: other long strings are code, or names of styles. */
const SENTENCE = /\p{L}\P{L}?[.!?]\P{L}?(?:\s|$)|[\u3002\uff01\uff1f]/u;
/** Characters of a page's words below which a script may be what shows its words. */
const FEW = 100;
/** Characters of scripts that may hold the words of a text. */
const MOST = 500;

/**
 * The words of a page, and the name of other long texts that are hidden or in scripts: `{text, left}`. Refused where it
 * has few words, and a script shows the others.
 */
export function ofPage(page) {
  const [text, hidden] = readPage(page);
  const scripts = page.match(SCRIPT) ?? [];
  const isTold = text.length >= FEW || scripts.reduce((size, script) => size + script.length, 0) <= (text === "" ? 0 : MOST);
  sound(isTold, "script", "it has few words, and a script that may show others");
  const given = Array.from(page.matchAll(GIVEN), ([, data]) => plain(data));
  const texts = [...hidden.map((part) => wordsOf(part)), ...[...scripts, ...given].flatMap(textsIn)];
  return { text, left: others(texts.filter((each) => sizeOf(each) >= LONG && SENTENCE.test(each)), () => [text]) };
}

/** The texts in the strings of a script, and in strings in these. */
function textsIn(script) {
  const whole = TEXT.exec(script);
  if (whole) return [wordsOf(whole[1])];
  return (script.match(STRING) ?? []).flatMap((string) => {
    const text = unescaped(string.slice(1, -1).replaceAll("\\'", "'"));
    return DATA.test(text) ? textsIn(text) : [text.includes("</") ? wordsOf(text) : text];
  });
}
