/** Asking a detector (section 20): the question as a detector reads it, the answer as the asker does. */
import NUMBERS from "../../../spec/numbers.json" with { type: "json" };
import { require } from "../../../packages/ctwl-web/src/refusal.js";

const most = (name) => NUMBERS.asking[name].value;
const MEANS = ["watermark", "metadata", "retrieval", "forensics"];

const isWhole = (value, high) => Number.isInteger(value) && value >= 0 && value <= high;
const isText = (value) => typeof value === "string" && value.isWellFormed();
const characters = (text) => [...text].length;

/** A JSON object in UTF-8, or null. */
function object(bytes) {
  try {
    const value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

const hasFields = (value, names) => Object.keys(value).sort().join() === names;

/** A question of 20.1. */
export function readQuestion(bytes) {
  require(bytes.length <= most("question_bytes"), "input-too-large");
  const question = object(bytes);
  require(question !== null && typeof question.format === "string", "question-malformed");
  require(question.format === "ctwl-question/1", "format-unknown");
  const { provider, text, level, keep_days } = question;
  const sound = hasFields(question, "format,keep_days,level,provider,text") && isWhole(provider, 1023) && isText(text)
    && text !== "" && typeof level === "number" && level > 0 && level < 1 && isWhole(keep_days, most("days"));
  require(sound, "question-malformed");
  require(characters(text) <= most("characters"), "input-too-large");
  return question;
}

/** The answer of 20.2 to a question, as 20.4 checks it. */
export function readAnswer(bytes, question) {
  const answer = bytes.length <= most("answer_bytes") ? object(bytes) : null;
  require(answer !== null, "answer-malformed");
  const { format, provider, outcome, basis, error_rate, measured, places, kept_days, says } = answer;
  const unable = outcome === "unable";
  const agrees = unable
    ? error_rate === null && measured === null
    : typeof error_rate === "number" && error_rate >= 0 && error_rate <= 1 && typeof measured === "boolean"
      && outcome === (error_rate <= question.level ? "found" : "none");
  const sound = hasFields(answer, "basis,error_rate,format,kept_days,measured,outcome,places,provider,says")
    && format === "ctwl-answer/1" && provider === question.provider && agrees
    && Array.isArray(basis) && basis.every((each) => MEANS.includes(each)) && new Set(basis).size === basis.length
    && (basis.length === 0) === unable && arePlaces(places, characters(question.text))
    && (places.length === 0 || outcome === "found") && isWhole(kept_days, question.keep_days)
    && isText(says) && characters(says) <= most("says");
  require(sound, "answer-malformed");
  return answer;
}

/** Pairs that ascend, without overlap, inside a text of so many characters. */
function arePlaces(places, size) {
  const pairs = Array.isArray(places) && places.length <= most("places")
    && places.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every((end) => isWhole(end, size)));
  return pairs && places.every(([start, end], i) => start < end && (i === 0 || places[i - 1][1] <= start));
}
