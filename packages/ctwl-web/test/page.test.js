/** The page and the popup for everyone: contrast, labels, words from one file. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { mainText } from "../extension/article.js";

const file = (name) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
const STYLE = file("page/page.css");
const TEMPLATES = ["page/index.html", "extension/popup.html"];

const [LIGHT, DARK] = [...STYLE.matchAll(/:root \{([^}]*)\}/g)].map(([, rules]) =>
  Object.fromEntries(Array.from(rules.matchAll(/--(\w+): (#\w+)/g), ([, name, colour]) => [name, parsed(colour)])),
);

/** Red, green, blue and how solid. */
function parsed(colour) {
  const long = colour.length === 4 ? colour.replace(/\w/g, "$&$&") : colour;
  const [red, green, blue, solid = 255] = long.match(/\w\w/g).map((each) => parseInt(each, 16));
  return [red, green, blue, solid / 255];
}

const over = ([r, g, b, solid], under) => [r, g, b].map((each, i) => each * solid + under[i] * (1 - solid));

/** WCAG's contrast of two colours. */
function contrast(a, b) {
  const light = (colour) => {
    const [r, g, b] = colour.map((each) => (each / 255 <= 0.04045 ? each / 255 / 12.92 : ((each / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

test("words can be read in light and in dark", () => {
  for (const colours of [LIGHT, DARK]) {
    const on = (ink, paper) => contrast(colours[ink].slice(0, 3), over(colours[paper], colours.paper));
    for (const [ink, paper] of ["ink paper", "soft paper", "accent paper", "wrong paper", "ink field", "on accent", "ink found", "ink tint", "accent tint"].map((each) => each.split(" "))) {
      assert.ok(on(ink, paper) >= 4.5, `${ink} on ${paper}: ${on(ink, paper).toFixed(2)}`);
    }
    for (const line of ["edge", "curve"]) assert.ok(on(line, "paper") >= 3, line);
  }
});

test("words of the templates are names of words, and all of these are there", () => {
  const words = JSON.parse(file("page/words.en.json"));
  for (const template of TEMPLATES.map(file)) {
    assert.doesNotMatch(template.replace(/<(script|style)\b[^>]*>[^]*?<\/\1>/g, "").replace(/<[^>]*>|\{\{ [\w-]+ \}\}/g, ""), /\w/);
    for (const [, name] of template.matchAll(/\{\{ ([\w-]+) \}\}/g)) {
      assert.ok(name in words || ["data", "script", "style", "policy"].includes(name), name);
    }
  }
  for (const [, reasons] of file("src/documents/refused.js").matchAll(/@param \{(.*)\} reason/g)) {
    for (const [, reason] of reasons.matchAll(/"(\w+)"/g)) assert.ok(`reason-${reason}` in words, reason);
  }
  const scripts = [...["ask", "expert", "page", "result", "verdict"].map((name) => `page/${name}.js`), "extension/popup.js"];
  const used = scripts.map(file).join("").matchAll(/say\("([\w-]+)"/g);
  for (const [, name] of used) assert.ok(name in words, name);
});

test("everything has a name for those who do not see it", () => {
  for (const template of TEMPLATES.map(file)) {
    const labels = new Set(Array.from(template.matchAll(/<label[^>]* for="(\w+)"/g), ([, name]) => name));
    for (const [, name] of template.matchAll(/<(?:textarea|input)[^>]* id="(\w+)"/g)) assert.ok(labels.has(name), name);
    assert.match(template, /role="status"/);
    assert.match(template, /aria-live="polite"/);
    assert.match(template, /<html lang="\{\{ language \}\}">/);
  }
});

test("the main text is the longest run of paragraphs", () => {
  const block = (length, linked = 0, beside = false) => ({ text: "a".repeat(length), linked, beside });
  const menu = Array.from({ length: 20 }, () => block(70, 70));
  const story = [block(400, 60), block(20), block(300), block(90, 90), block(250, 30)];
  const found = mainText([...menu, block(200), ...menu, ...story, block(30), ...menu, block(9999, 0, true)]);
  assert.deepEqual(found, [story[0], story[1], story[2], story[4]]);
  const table = Array.from({ length: 50 }, () => ({ ...block(5), cell: true }));
  assert.equal(mainText([...menu, block(300), ...table, block(300)]).length, 52);
  assert.deepEqual(mainText([block(5), block(9)]).length, 2); // no paragraph at all: all there is
  assert.deepEqual(mainText([]), []);
});
