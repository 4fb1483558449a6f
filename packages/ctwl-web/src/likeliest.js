/**
 * The likeliest record (10.4): codes of high score in their slots that agree with their check. The check is the exclusive
 * or of the codes, so the codes of all other slots determine a slot's code. The search is among the records whose codes
 * are likely in all slots but one.
 */
import { READING } from "./numbers.js";

/** Score of a code that is not searched. */
export const NOWHERE = READING.nowhere;
/** Number of a slot's best codes that are combined with those of other slots. */
const LIKELY = READING.likely;

/**
 * The record of highest score: what the slots carry, the check included.
 *
 * @param slots for each slot the scores of all codes, the check's last
 */
export function likeliest(slots) {
  const tops = slots.map(bestCode);
  if (tops.reduce((a, b) => a ^ b) === 0) return tops; // the best of every slot, and they agree
  const likely = slots.map(likelyCodes);
  let best = { sum: -Infinity, codes: null };
  const isBefore = (codes) => {
    const at = codes.findIndex((code, i) => code !== best.codes[i]);
    return at >= 0 && codes[at] < best.codes[at];
  };
  slots.forEach((scores, follows) => {
    const others = likely.filter((_, slot) => slot !== follows);
    const bound = 2 ** (READING.combination_bits - 2 * others.length);
    const chosen = [];
    const visit = (depth, size, xor, sum) => {
      const { codes, scores: own } = others[depth];
      const room = Math.min(Math.floor(bound / size), LIKELY, codes.length);
      const isLast = depth + 1 === others.length;
      for (let i = 0; i < room; i++) {
        const rest = xor ^ codes[i];
        if (isLast && sum + own[i] + scores[rest] < best.sum) continue;
        chosen[depth] = codes[i];
        if (isLast) see(sum + own[i] + scores[rest], rest);
        else visit(depth + 1, size * (i + 1), rest, sum + own[i]);
      }
    };
    const see = (sum, rest) => {
      const codes = chosen.toSpliced(follows, 0, rest);
      if (sum > best.sum || isBefore(codes)) best = { sum, codes };
    };
    visit(0, 1, 0, 0);
  });
  return best.codes;
}

/** The code of the highest score, the smallest of equals. */
function bestCode(scores) {
  let best = 0;
  for (let code = 1; code < scores.length; code++) if (scores[code] > scores[best]) best = code;
  return best;
}

/** The score that as many codes as are likely reach at least; the least one of those searched where they are fewer. */
function leastLikely(all) {
  let [low, high] = [Infinity, NOWHERE];
  for (const score of all) {
    if (score > high) high = score;
    if (score < low && score > NOWHERE) low = score;
  }
  if (low > high) return NOWHERE + 1;
  const counts = new Uint32Array(high - low + 1);
  for (const score of all) if (score > NOWHERE) counts[score - low]++;
  let least = high;
  for (let reached = counts[high - low]; reached < LIKELY && least > low; reached += counts[least - low]) least--;
  return least;
}

/** The best codes of a slot, best first, the smallest of equals, with their scores. */
function likelyCodes(all) {
  const least = leastLikely(all);
  const codes = [];
  for (let code = 0; code < all.length; code++) if (all[code] >= least) codes.push(code);
  codes.sort((a, b) => all[b] - all[a] || a - b);
  const kept = Uint32Array.from(codes.slice(0, LIKELY));
  return { codes: kept, scores: Int32Array.from(kept, (code) => all[code]) };
}
