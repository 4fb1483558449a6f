/** Subtitles (SRT, WebVTT, SBV, ASS): the words that are shown, without their times. */
import { SPACES } from "./html.js";

const TIMES = /^(?:\d+:)?\d+:\d+[,.]\d+(?:\s*-->|,\d+:\d+:\d+\.\d+\s*$)/;
const TAGS = /<[^<>]{0,100}>|\{\\[^{}]{0,100}\}/g;
const NOT_SHOWN = /^(?:WEBVTT|NOTE|STYLE|REGION)\b/;
/** A line of ASS; its tenth field has the words. */
const DIALOGUE = /^Dialogue:(?:[^,\n]*,){9}(.*)$/gm;

/** The words, in one paragraph: their breaks are the screen's. A line that the next cue shows again counts once. */
export function wordsOfSubtitles(given) {
  const text = given.replaceAll("\r\n", "\n").trim();
  const lines = text.startsWith("[Script Info]") ? Array.from(text.matchAll(DIALOGUE), ([, words]) => words) : linesOf(text);
  const words = lines.map((line) => line.replace(TAGS, "").replaceAll("\\N", " ").split(SPACES).filter((word) => word !== "").join(" "));
  const shown = words.filter((line) => line !== "");
  return shown.filter((line, i) => line !== shown[i - 1]).join(" ");
}

/** The lines of cues. */
function linesOf(text) {
  return text.split(/\n[ \t]*\n/).flatMap((cue) => {
    const lines = cue.split("\n");
    const behind = lines.findIndex((line) => TIMES.test(line)) + 1;
    return behind > 0 || !NOT_SHOWN.test(cue) ? lines.slice(behind) : [];
  });
}
