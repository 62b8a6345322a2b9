// How a run stands, as a dot, a word and a colour that is never the only sign.

import { h } from "./dom.js";
import { interval, percent, short, span, whole } from "./format.js";

const SIGNS = {
  running: "●", starting: "◌", stalled: "◐", finished: "✓", solved: "✓", converged: "✓",
  interrupted: "❙❙", killed: "✕", failed: "✕", unstable: "✕", unreadable: "?", "never started": "○",
};
const ORDER = ["stalled", "running", "starting", "failed", "unstable", "killed", "interrupted"];

export function badge(row) {
  return h("span", { class: `status ${row.status.replace(" ", "-")}`, title: row.why },
    h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[row.status] || "·"), h("span", { class: "word" }, row.status));
}

export const isLive = (row) => ["running", "starting", "stalled"].includes(row.status);
export const statusOrder = (row) => {
  const place = ORDER.indexOf(row.status);
  return place < 0 ? ORDER.length : place;
};

export function progress(row) {
  const share = row.iterations ? Math.min(1, row.iteration / row.iterations) : 0;
  const words = `${whole(row.iteration)} of ${whole(row.iterations)} iterations`;
  return h("span", { class: "progress", title: words },
    h("span", { class: `track ${isLive(row) ? "moving" : ""}`, role: "progressbar", "aria-label": words,
      "aria-valuenow": Math.round(100 * share), "aria-valuemin": 0, "aria-valuemax": 100 },
      h("span", { class: "done", style: { width: `${100 * share}%` } })),
    h("span", { class: "figure" }, percent(share)));
}

export function left(row) {
  return row.left_s === null ? "" : span(row.left_s);
}

export function score(row) {
  if (row.score === null) return h("span", { class: "soft" }, "–");
  const title = row.final ? "on held-out episodes" : "at the last evaluation";
  return h("span", { class: "score", title }, h("b", {}, short(row.score)), " ", h("span", { class: "soft" }, interval(row.low, row.high)));
}
