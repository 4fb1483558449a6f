/** Subtitles (SRT, WebVTT, SBV, ASS): the words that are shown, without their times; notes that are a text are named. */
import { wordsApart } from "../characters.js";
import { prose } from "./prose.js";

const TIMES = /^(?:\d+:)?\d+:\d+[,.]\d+(?:\s*-->|,\d+:\d+:\d+\.\d+\s*$)/;
const TAGS = /<[^<>]{0,100}>|\{\\[^{}]{0,100}\}/g;
const NOTE = /^NOTE(?:[ \t]|$)/;
/** Begins a block of WebVTT without times. */
const NOT_SHOWN = /^(?:WEBVTT|STYLE|REGION)\b/;
/** A line of ASS; its tenth field has the words. */
const LINE = /^(Dialogue|Comment):(?:[^,\n]*,){9}(.*)$/gm;

/** The words that are shown, and the name of the notes: `{text, left}`. */
export function wordsOfSubtitles(given) {
  const text = given.replaceAll("\r\n", "\n").trim();
  const lines = text.startsWith("[Script Info]") ? Array.from(text.matchAll(LINE), ([, ...line]) => line) : linesOf(text);
  const [notes, shown] = [true, false].map((is) => lines.filter(([kind]) => (kind === "Comment") === is).map(([, line]) => line));
  return { text: joined(shown), left: prose(notes) === "" ? [] : ["notes"] };
}

/** Lines in one paragraph: their breaks are the screen's. A line that the next cue shows again counts once. */
function joined(lines) {
  const words = lines.map((line) => wordsApart(line.replace(TAGS, "").replaceAll("\\N", " ")).join(" "));
  const shown = words.filter((line) => line !== "");
  return shown.filter((line, i) => line !== shown[i - 1]).join(" ");
}

/** The lines of cues, and those of the comments of WebVTT, which in other forms are words. */
function linesOf(text) {
  const hasNotes = text.startsWith("WEBVTT");
  return text.split(/\n[ \t]*\n/).flatMap((cue) => {
    const lines = cue.split("\n");
    const behind = lines.findIndex((line) => TIMES.test(line)) + 1;
    const kind = hasNotes && behind === 0 && NOTE.test(lines[0]) ? "Comment" : "Dialogue";
    return behind > 0 || !(hasNotes && NOT_SHOWN.test(cue)) ? lines.slice(behind).map((line) => [kind, line]) : [];
  });
}
