/** The main text of a page: the run of blocks in which most is said outside of links. */

/** A block that says less than so many characters is more likely a label than a paragraph; a cell of a table is neither. */
const LABEL = 60;

const worth = ({ text, linked, cell }) => text.length - linked - (cell ? 0 : LABEL);

/**
 * The blocks of the main text. A run gains by each long block and loses by each short or linked one, so short lines
 * between paragraphs belong to it, and menus around them do not. Blocks that are mostly links are left out of it.
 */
export function mainText(blocks) {
  const own = blocks.filter(({ beside }) => !beside);
  let best = { sum: 0, from: 0, behind: own.length };
  let run = { sum: 0, from: 0 };
  own.forEach((block, i) => {
    if (run.sum <= 0) run = { sum: 0, from: i };
    run.sum += worth(block);
    if (run.sum > best.sum) best = { ...run, behind: i + 1 };
  });
  return own.slice(best.from, best.behind).filter(({ text, linked }) => 2 * linked <= text.length);
}
