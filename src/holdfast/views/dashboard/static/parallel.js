// Parallel coordinates: one axis per option that differs, the last for the score, one line per run, drawn as SVG.

import { h } from "./dom.js";
import { short } from "./format.js";

const WIDTH = 1000, HEIGHT = 260, TOP = 34, BOTTOM = 226, MOST_AXES = 9;
const SVG = "http://www.w3.org/2000/svg";

export function parallel({ differences, runs, importance }) {
  const rank = new Map(importance.map((one, at) => [one.name, at]));
  const chosen = [...differences].sort((a, b) => (rank.get(a.name) ?? 99) - (rank.get(b.name) ?? 99)).slice(0, MOST_AXES - 1);
  const scores = { name: "score", values: runs.map((row) => row.score), numbers: runs.map((row) => row.score) };
  const axes = [...chosen, scores].map((one, at, all) => ({ ...one, x: 60 + (at * (WIDTH - 120)) / Math.max(1, all.length - 1), scale: scaled(one) }));
  const picture = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: "100%", role: "img", "aria-label": `parallel coordinates of ${runs.length} runs over ${axes.map((axis) => axis.name).join(", ")}` });
  const score = axes[axes.length - 1];
  const drawn = runs.map((row, at) => ({ row, at })).filter(({ row }) => row.score !== null).sort((a, b) => a.row.score - b.row.score);
  for (const { row, at } of drawn) {
    const places = axes.map((axis) => [axis.x, y(axis.scale.at(at))]).filter(([, height]) => Number.isFinite(height));
    const share = score.scale.at(at);
    const line = s("path", { d: `M${places.map((place) => place.map((one) => one.toFixed(1)).join(" ")).join("L")}`, fill: "none", stroke: "var(--accent)", "stroke-width": 0.8 + 1.6 * share, opacity: (0.15 + 0.8 * share ** 2).toFixed(2) });
    line.append(s("title", {}, `${row.id}: ${short(row.score)}`));
    picture.append(line);
  }
  axes.forEach((axis, at) => {
    const anchor = at === 0 ? "start" : at === axes.length - 1 ? "end" : "middle";
    picture.append(s("path", { d: `M${axis.x} ${TOP}V${BOTTOM}`, stroke: "var(--soft)", "stroke-width": 1 }),
      s("text", { x: axis.x, y: 14, fill: "var(--ink)", "font-size": 12, "text-anchor": anchor }, axis.name.split(".").pop().slice(0, 24)),
      ...axis.scale.ticks.map(([share, words]) => s("text", { x: axis.x + (anchor === "end" ? -5 : 5), y: y(share) + 4, fill: "var(--soft)", "font-size": 11, "text-anchor": anchor === "end" ? "end" : "start" }, words.slice(0, 22))));
  });
  return h("figure", { style: { margin: "0" } }, picture, h("figcaption", { class: "note" }, "One line per run; the better the score, the stronger the line. The options that matter most come first."));
}

const y = (share) => BOTTOM - share * (BOTTOM - TOP);

// Where each run lies on an axis, from 0 to 1: numbers by size (logarithms where they span much), others in order.
function scaled(axis) {
  const known = axis.numbers.filter((one) => one !== null);
  if (known.length && known.length === axis.values.filter((one) => one !== null).length) {
    const wide = Math.min(...known) > 0 && Math.max(...known) / Math.min(...known) > 50;
    const turn = wide ? Math.log : (one) => one;
    const low = turn(Math.min(...known)), high = turn(Math.max(...known));
    return { at: (number) => (axis.numbers[number] === null ? NaN : high > low ? (turn(axis.numbers[number]) - low) / (high - low) : 0.5), ticks: [[0, short(Math.min(...known))], [1, short(Math.max(...known))]] };
  }
  const kinds = [...new Set(axis.values)].map(String).sort();
  const share = (value) => (kinds.length > 1 ? kinds.indexOf(String(value)) / (kinds.length - 1) : 0.5);
  return { at: (number) => share(axis.values[number]), ticks: kinds.slice(0, 8).map((kind) => [share(kind), kind]) };
}

function s(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
