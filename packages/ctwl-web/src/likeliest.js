/**
 * The likeliest record (10.4): codes of high score in their slots that agree with their check. The check is the exclusive
 * or of the codes, so the codes of all other slots determine a slot's code. The search is among the records whose codes
 * are likely in all slots but one.
 */

/** Score of a code that is not searched. */
export const NOWHERE = -(2 ** 24);
/** Number of a slot's best codes that are combined with those of other slots. */
const LIKELY = 2 ** 11;

/**
 * The record of highest score: what the slots carry, the check included.
 *
 * @param slots for each slot the scores of all codes, the check's last
 */
export function likeliest(slots) {
  const tops = slots.map((scores) => scores.reduce((at, score, code) => (score > scores[at] ? code : at), 0));
  if (tops.reduce((a, b) => a ^ b) === 0) return tops; // the best of every slot, and they agree
  const likely = slots.map(likelyCodes);
  let best = { sum: -Infinity, codes: null };
  const isBefore = (codes) => {
    const at = codes.findIndex((code, i) => code !== best.codes[i]);
    return at >= 0 && codes[at] < best.codes[at];
  };
  slots.forEach((scores, follows) => {
    const others = likely.filter((_, slot) => slot !== follows);
    const bound = 2 ** (18 - 2 * others.length);
    const chosen = [];
    const visit = (depth, size, xor, sum) => {
      if (depth < others.length) {
        const room = Math.min(Math.floor(bound / size), LIKELY, others[depth].codes.length);
        for (let i = 0; i < room; i++) {
          chosen[depth] = others[depth].codes[i];
          visit(depth + 1, size * (i + 1), xor ^ chosen[depth], sum + others[depth].scores[i]);
        }
        return;
      }
      const whole = sum + scores[xor];
      if (whole < best.sum) return;
      const codes = chosen.toSpliced(follows, 0, xor);
      if (whole > best.sum || isBefore(codes)) best = { sum: whole, codes };
    };
    visit(0, 1, 0, 0);
  });
  return best.codes;
}

/** The best codes of a slot, best first, the smallest of equals, with their scores. */
function likelyCodes(all) {
  const sorted = Int32Array.from(all).sort();
  const least = Math.max(sorted[Math.max(0, sorted.length - LIKELY)], NOWHERE + 1);
  const codes = [];
  for (let code = 0; code < all.length; code++) if (all[code] >= least) codes.push(code);
  codes.sort((a, b) => all[b] - all[a] || a - b);
  const kept = Uint32Array.from(codes.slice(0, LIKELY));
  return { codes: kept, scores: Int32Array.from(kept, (code) => all[code]) };
}
