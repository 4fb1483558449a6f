/** JSON with integers of any size: versions of 9.6 go to 2^63 - 1. */
export function stringify(value) {
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return `[${value.map((item) => stringify(item ?? null)).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const fields = Object.keys(value).filter((key) => value[key] !== undefined);
    return `{${fields.map((key) => `${JSON.stringify(key)}:${stringify(value[key])}`).join(",")}}`;
  }
  return JSON.stringify(value);
}
