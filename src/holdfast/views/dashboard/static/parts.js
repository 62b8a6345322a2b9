// Small pictures that several pages show.

import { h, runLink } from "./dom.js";

export function bars(entries) {
  return h("div", { class: "bars" }, entries.map((one) => [
    h("code", {}, one.name), h("span", { class: "bar-line" }, h("i", { style: { width: `${100 * Math.max(0, Math.min(1, one.share))}%` } })), h("span", { class: "number" }, one.words)]));
}

// Who went on from whom, as a tree of lists.
export function tree(found) {
  const children = new Map();
  for (const one of found) children.set(one.parent, [...(children.get(one.parent) || []), one]);
  const below = (id, depth) => (depth < 50 && children.has(id) ? h("ul", { class: "tree" }, children.get(id).map((one) => branch(one, depth + 1))) : null);
  const branch = (one, depth) => h("li", {}, runLink(one.run), h("span", { class: "soft" }, ` ${one.parent ? "" : `from ${one.init} `}${one.words}`), below(one.run, depth));
  const known = new Set(found.map((one) => one.run));
  const roots = [...new Set(found.map((one) => one.parent))].filter((id) => id !== null && !known.has(id));
  return h("ul", { class: "tree" }, roots.map((id) => h("li", {}, runLink(id), below(id, 0))), (children.get(null) || []).map((one) => branch(one, 0)));
}
