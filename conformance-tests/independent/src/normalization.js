/** 5.1 Normalisation `ctwl-n1`. */

/** Step 2: what is replaced by what. */
const REPLACED = [
  [/[\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000]/g, " "],
  [/[\u0085\u2028\u2029]/g, "\n"],
  [/[\u2018-\u201B]/g, "'"],
  [/[\u201C-\u201F]/g, '"'],
  [/[\u2010\u2011]/g, "-"],
  [/\u2026/g, "..."],
  [/[\u00AD\u061C\u180E\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\uFEFF\u{E0000}-\u{E007F}]/gu, ""],
];

/** Steps 1 to 4: all but what is taken away at the ends. */
export function normalizeWithin(text) {
  let normal = text.normalize("NFC");
  for (const [pattern, replacement] of REPLACED) normal = normal.replace(pattern, replacement);
  return normal.replace(/\r\n?/g, "\n").normalize("NFC");
}

/** The normal form of a text. */
export function normalize(text) {
  const normal = normalizeWithin(text);
  // Two loops: a pattern that is anchored at the end takes quadratic time on long runs inside.
  let [first, behind] = [0, normal.length];
  while (first < behind && isEnd(normal[first])) first++;
  while (behind > first && isEnd(normal[behind - 1])) behind--;
  return normal.slice(first, behind);
}

const isEnd = (character) => " \t\n\v\f\r".includes(character);
