/** The details: codes, beacons, records, p-values and the evidence along the text. */
import { nameOf } from "./verdict.js";

/** Tokens over which the curve sums evidence. */
const SUMMED = 64;

/** A p-value: three digits, or two and a power of ten. */
function shortP(p) {
  if (p >= 0.001) return String(Number(p.toPrecision(3)));
  const [digits, exponent] = p.toExponential(1).split("e");
  return `${digits.replace(/\.0$/, "")}e${exponent}`;
}

function list(rows) {
  const found = document.createElement("dl");
  for (const [term, value] of rows) {
    const [dt, dd] = [document.createElement("dt"), document.createElement("dd")];
    dt.textContent = term;
    dd.textContent = value;
    found.append(dt, dd);
  }
  return found;
}

function paragraph(kind, text) {
  const found = document.createElement(kind);
  found.textContent = text;
  return found;
}

/** What a record says beside its origin. */
function recordRows(record, say) {
  if (record === null) return [];
  if (record.layout === null) return [[say("d-record"), say("record-unread")]];
  const own = Object.entries(record.fields).filter(([name]) => !/^(provider|version|nonce)(_[123])?$/.test(name));
  const fields = own.map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`);
  return [
    [say("d-record"), [record.layout, ...fields].join(", ")],
    ...record.chain.slice(1).map((hop) => [say("d-before"), nameOf(hop, say)]),
    ...(record.sealed === null ? [] : [[say("d-user"), say("sealed")]]),
    ...(record.authenticator ? [[say("d-authentic"), say("authentic")]] : []),
  ];
}

/** The elements of the details of a report. */
export function expert(report, say, language) {
  const count = (n) => n.toLocaleString(language);
  const codeRows = (one) => [
    [say("d-code"), String(one.code)],
    ...(one.provider === null ? [] : [[say("d-beacon"), say("beacon", one)]]),
    [say("d-p"), shortP(one.p_value)],
  ];
  const hits = say("hits", { ...report, expected: report.expected.toFixed(1) });
  const found = [];
  report.spans.forEach((span, i) => {
    const place = say("place", { start: count(span.start), end: count(span.end) });
    found.push(paragraph("h3", say("passage", { number: i + 1 })));
    found.push(list([[say("d-place"), place], ...codeRows(span), ...recordRows(span.record, say)]));
  });
  if (report.likeliest) {
    const held = report.held_back ? [[say("d-held"), heldBack(report.held_back, say)]] : [];
    const best = say("best", { searched: count(report.searched), alpha: shortP(report.alpha) });
    found.push(paragraph("p", best), list([...codeRows(report.likeliest), ...held]));
  }
  if (report.contributions?.some((worth) => worth !== null)) found.push(...curve(report, say));
  found.push(list([
    [say("d-hits"), [hits, ...(report.detected ? [] : [say("hits-mean")])].join("; ")],
    [say("d-score"), report.score],
    [say("d-level"), shortP(report.alpha)],
    [say("d-tokens"), count(report.tokens)],
    [say("d-searched"), count(report.searched)],
    [say("d-form"), report.form.split(", ").map((step) => say(`form-${step.replaceAll(" ", "-")}`)).join(", ")],
    ...(report.registry ? [[say("d-registry"), origin(report.registry, say)]] : []),
    [say("d-profile"), report.profile],
    ...(report.profiles?.length > 1 ? [[say("d-profiles"), tried(report.profiles, say)]] : []),
    [say("d-digest"), report.profile_digest],
  ]));
  return found;
}

const heldBack = ({ rule, needed, contexts }, say) => say(`held-${rule}`, { contexts, needed: needed === null ? "" : shortP(needed) });

/** The profiles that the p-value pays for. */
function tried(profiles, say) {
  const names = profiles.map(({ name, read }) => say(`profile-${read}`, { name })).join(", ");
  return say("paid", { names, count: profiles.length });
}

/** Where names are from: what was verified here, or what the service says. */
function origin(registry, say) {
  if (typeof registry === "string") return registry;
  return say(registry.expired ? "registry-expired" : registry.test ? "registry-test" : "registry", registry);
}

const SVG = "http://www.w3.org/2000/svg";

function drawn(kind, attributes) {
  const found = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
  return found;
}

/** The evidence along the text: the sum over the tokens around each. */
function curve({ contributions }, say) {
  const sums = [0];
  for (const worth of contributions) sums.push(sums.at(-1) + (worth ?? 0));
  const step = Math.max(1, Math.floor(contributions.length / 600));
  const points = [];
  for (let i = 0; i < contributions.length; i += step) {
    const [from, behind] = [Math.max(0, i - SUMMED / 2), Math.min(contributions.length, i + SUMMED / 2)];
    points.push([i, sums[behind] - sums[from]]);
  }
  const low = Math.min(-1, ...points.map(([, sum]) => sum));
  const high = Math.max(1, ...points.map(([, sum]) => sum));
  const x = (i) => (10 + (880 * i) / Math.max(contributions.length - 1, 1)).toFixed(1);
  const y = (sum) => (150 - (140 * (sum - low)) / (high - low)).toFixed(1);
  const picture = drawn("svg", { viewBox: "0 0 900 160", role: "img", "aria-label": say("curve", { summed: SUMMED }) });
  picture.append(
    drawn("line", { class: "axis", x1: 10, x2: 890, y1: y(0), y2: y(0) }),
    drawn("polyline", { class: "curve", points: points.map(([i, sum]) => `${x(i)},${y(sum)}`).join(" ") }),
  );
  const caption = paragraph("p", say("curve", { summed: SUMMED }));
  caption.className = "soft";
  return [picture, caption];
}
