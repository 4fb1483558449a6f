/** Subtitles (SRT and WebVTT): the words that are shown, without their times. */

const TIMES = /^(?:\d+:)?\d+:\d+[,.]\d+\s*-->/;
const TAGS = /<[^<>]{0,100}>|\{\\[^{}]{0,100}\}/g;
const NOT_SHOWN = /^(?:WEBVTT|NOTE|STYLE|REGION)\b/;

/** The words, in one paragraph: their breaks are the screen's. */
export function wordsOfSubtitles(text) {
  const shown = [];
  for (const cue of text.replaceAll("\r\n", "\n").trim().split(/\n[ \t]*\n/)) {
    const lines = cue.split("\n");
    const behind = lines.findIndex((line) => TIMES.test(line)) + 1;
    if (behind > 0 || !NOT_SHOWN.test(cue)) shown.push(...lines.slice(behind).map((line) => line.replace(TAGS, "").trim()));
  }
  return shown.filter((line) => line !== "").join(" ");
}
