/** The words of a page, which come with its data. */

/** A function that gives the words of a name, with values put in; nothing for a name without words. */
export function speaker(words) {
  return (name, values = {}) => (words[name] ?? "").replace(/\{(\w+)\}/g, (_, key) => String(values[key]));
}
