/** 10.4 Records: what follows the beacon of slot 0. */
import NUMBERS from "../../../spec/numbers.json" with { type: "json" };
import { beaconFields, CODE_BITS, NONCES } from "../../../packages/ctwl-web/src/beacon.js";
import { countedIn, rowsOf } from "./evidence.js";
import { LAYOUTS } from "../../../packages/ctwl-web/src/layouts.js";
import { tail } from "../../../packages/ctwl-web/src/null.js";
import { allScores, unitsFor } from "./search.js";

/** How many of the best beacons lend their nonce. */
const BEACONS = 4;
/** A beacon whose own `N * P` is above this is no place to start from. */
const PLAUSIBLE = 0.05;
/** The score of a code that is not searched. */
const NOWHERE = -(2 ** 30);
/** What the slots behind slot 0 must show for a layout to be reported. */
const SHOWN = NUMBERS.reading.confirmed.value;
/** How many likely codes of a slot are tried together, by how many further codes there are. */
const LIKELY = [0, 2 ** CODE_BITS, 1024, 96];

/**
 * The best record of `n` >= 2 codes in some positions, or null.
 *
 * @param profile under which they were read
 * @param found positions
 * @param n the number of codes
 * @param beacons the best codes of slot 0, with their scores, best first
 * @param tests `K` of slot 0 in these positions
 * @param searched `{codes, hops, parts, owned}`: the beacons that are searched, and those that an earlier hop may be, null for
 *   all; how many times the number of the first the alternatives are; registered layouts
 * @returns `{layout, codes, probability, tests, shown, slots, layouts}`: codes, null for an authenticator; the record's `P`
 *   and the tests it takes; whether the slots behind slot 0 show a layout by themselves; each slot's units, those that its code
 *   has in each row, score and number of codes that may be in it, the check's last; how many layouts of so many codes may
 *   follow the beacon
 */
export function bestRecord(profile, found, n, beacons, tests, { codes: searched, hops, parts, owned }) {
  const layouts = [...LAYOUTS, ...owned].filter(({ codes }) => codes === n);
  const isBehind = ({ owner }, code) => owner === undefined || owner === beaconFields(code).provider;
  const first = rowsOf(countedIn(found, n, 0), profile.key);
  const nonces = new Map();
  for (const beacon of beacons.slice(0, BEACONS)) {
    const { nonce } = beaconFields(beacon.code);
    const plausible = tail(first.map(({ units }) => units), beacon.score) * 2 ** CODE_BITS <= PLAUSIBLE;
    if (plausible) nonces.set(nonce, [...(nonces.get(nonce) ?? []), beacon]);
  }
  const every = searched ?? Uint32Array.from({ length: 2 ** CODE_BITS }, (_, code) => code);
  const beaconsBefore = (layout, nonce) => parts * every.filter((code) => code % NONCES === nonce && isBehind(layout, code)).length;
  const part = (rows, code, score, codes) => {
    return { units: rows.map(({ units }) => units), chosen: unitsFor(rows, code, profile.colours), score, codes };
  };
  let best = null;
  for (const [nonce, tried] of nonces) {
    for (const layout of layouts) {
      const before = tried.filter(({ code }) => isBehind(layout, code));
      if (before.length === 0) continue;
      const slots = readableSlots(profile, found, layout, nonce, hops);
      const records = slots.slice(0, -1).reduce((product, { count }) => product * count, 1);
      const behind = slots.flatMap(({ rows }) => rows.map(({ units }) => units));
      for (const beacon of before) {
        const { carried, sum, scores } = likeliest(slots, beacon.code);
        const codes = [beacon.code, ...carried.slice(0, -1)];
        const count = layouts.filter((other) => isBehind(other, beacon.code)).length;
        const shownBy = tail(behind, sum) * records * nonces.size * count;
        if (best && best.shownBy <= shownBy) continue;
        const all = [...behind, ...first.map(({ units }) => units)];
        best = {
          layout,
          codes: layout.authenticated ? [...codes, null] : codes,
          probability: tail(all, sum + beacon.score),
          tests: tests * records * count,
          shownBy,
          shown: shownBy <= SHOWN,
          slots: [
            part(first, beacon.code, beacon.score, beaconsBefore(layout, nonce)),
            ...slots.map(({ rows, count }, i) => part(rows, carried[i], scores[i], count)),
          ],
          layouts: count,
        };
      }
    }
  }
  return best;
}

/** The slots behind slot 0 that anyone can read, the check's last, each with its rows and the codes that may be in it. */
function readableSlots(profile, found, layout, nonce, hops) {
  const n = layout.codes;
  const numbers = Array.from({ length: n }, (_, i) => i + 1).filter((slot) => !(layout.authenticated && slot === n - 1));
  return numbers.map((slot) => {
    const codes = slot < layout.hops ? hops : null; // an earlier hop is one of the beacons
    const rows = rowsOf(countedIn(found, n, slot), profile.key, { layout: layout.number, slot, nonce });
    return { rows, codes, count: codes?.length ?? 2 ** CODE_BITS };
  });
}

/**
 * The further codes of highest score, with the check's: likely codes of all slots but one, from which the one left
 * follows, as all of them and the beacon come to nothing under exclusive or.
 */
function likeliest(slots, beacon) {
  for (const slot of slots) slot.scores ??= scoresOf(slot);
  const kept = LIKELY[slots.length - 1];
  for (const slot of slots) slot.likely ??= top(slot.scores, Math.min(kept, slot.count));
  let best = { sum: -Infinity, carried: null };
  const lefts = slots.length === 2 ? [1] : slots.keys();
  for (const left of lefts) {
    const others = slots.filter((_, i) => i !== left);
    const chosen = new Array(others.length);
    const visit = (depth, xor, sum) => {
      if (depth === others.length) {
        const whole = sum + slots[left].scores[xor];
        if (whole > best.sum) {
          const codes = chosen.toSpliced(left, 0, xor);
          best = { sum: whole, carried: codes, scores: codes.map((code, i) => slots[i].scores[code]) };
        }
        return;
      }
      const { likely, scores } = others[depth];
      for (let i = 0; i < likely.length; i++) {
        chosen[depth] = likely[i];
        visit(depth + 1, xor ^ likely[i], sum + scores[likely[i]]);
      }
    };
    visit(0, beacon, 0);
  }
  return best;
}

/** The score of every code in a slot. */
function scoresOf({ rows, codes }) {
  const scores = allScores(rows, CODE_BITS);
  if (!codes) return scores;
  const found = new Int32Array(scores.length).fill(NOWHERE);
  for (const code of codes) found[code] = scores[code];
  return found;
}

/** The `count` codes of highest score. */
function top(scores, count) {
  if (count >= scores.length) return Uint32Array.from(scores.keys());
  const sorted = Int32Array.from(scores).sort();
  const least = sorted[sorted.length - count];
  const chosen = [];
  for (let code = 0; code < scores.length; code++) if (scores[code] > least) chosen.push(code);
  for (let code = 0; code < scores.length && chosen.length < count; code++) if (scores[code] === least) chosen.push(code);
  return Uint32Array.from(chosen);
}
