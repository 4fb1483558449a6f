/** Pages of HTML, and the texts that their scripts may show. */
import { unescaped } from "./chats.js";
import { plain, readPage, wordsOf } from "./html.js";
import { isTold, others, uncoded } from "./prose.js";
import { sound } from "./refused.js";

/** A script, or data of one; not what is for search engines alone. */
const SCRIPT = /<script\b(?![^>]{0,200}ld\+json)[^]*?(?:<\/script|$)/gi;
/** A script that is no program, but a text, or a part of a page. */
const TEXT = /^<script[^>]{0,200}\btype\s*=\s*["']?text\/(?:html|markdown|plain|[\w-]*template)[^>]*>([^]*)/i;
/** Its strings stand before and behind what elements hold. */
const STYLE = /<style\b[^]*?(?:<\/style|$)/gi;
/** What an attribute holds: a form's words, a description, data for a script. What is in `meta` is for search engines. */
const GIVEN = /<meta\b[^<>]*|=\s*(?:"([^"]{49,})"|'([^']{49,})')/gi;
/** A string of a script; it matches at any quote, or time doubles. */
const STRING = /"[^"\\\n]*(?:\\[^][^"\\\n]*)*"?|'[^'\\\n]*(?:\\[^][^'\\\n]*)*'?|`[^`\\]*(?:\\[^][^`\\]*)*`?/g;
/** Shows that there are strings in a string. */
const DATA = /":|","/;
/** Characters of a page's words below which a script may be what shows its words. */
const FEW = 100;
/** Characters of scripts that may hold the words of a text. */
const MOST = 500;

/**
 * The words of a page, and the name of other long texts that are hidden, in scripts or in attributes: `{text, left}`. Refused where it
 * has few words, and a script shows the others.
 */
export function ofPage(page) {
  const [text, hidden] = readPage(page);
  const scripts = page.match(SCRIPT) ?? [];
  const isShown = text.length >= FEW || scripts.reduce((size, script) => size + script.length, 0) <= (text === "" ? 0 : MOST);
  sound(isShown, "script", "it has few words, and a script that may show others");
  const given = Array.from(page.matchAll(GIVEN), ([, one, two]) => plain(one ?? two ?? ""));
  const strings = [...[...scripts, ...(page.match(STYLE) ?? [])].flatMap(textsIn), ...given.flatMap(textsOf)];
  return { text, left: others([...hidden.map((part) => wordsOf(part)), ...strings].filter(isTold), () => [text]) };
}

/** The texts in the strings of a script, and in strings in these. */
function textsIn(script) {
  const whole = TEXT.exec(script);
  if (whole) return [wordsOf(whole[1])];
  return (script.match(STRING) ?? []).flatMap((string) => textsOf(unescaped(string.slice(1, -1).replaceAll("\\'", "'"))));
}

/** The texts in a string. */
function textsOf(string) {
  const text = uncoded(string) ?? string;
  return DATA.test(text) ? textsIn(text) : [text.includes("</") ? wordsOf(text) : text];
}
