// Charts, drawn by Plotly when they come into sight. Its script is loaded once, from this server.

import { h } from "./dom.js";
import { short } from "./format.js";

const MOST_SVG = 40000; // points of one chart; more are drawn by WebGL where there is one
let loading = null;

export function plotly() {
  loading ||= new Promise((done, failed) => {
    const script = h("script", { src: `/plotly.js?v=${encodeURIComponent(document.documentElement.dataset.plotly)}` });
    script.onload = () => done(globalThis.Plotly);
    script.onerror = () => failed(new Error("the drawing library did not load"));
    document.head.append(script);
  });
  return loading;
}

// Plotly reads a little markup in texts: names of runs must not be read like that.
export const plain = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

export function colour(number) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--line-${number % 10}`).trim();
}

const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function faint(hex, share) {
  const n = parseInt(hex.slice(1), 16);
  return `rgba(${n >> 16}, ${(n >> 8) & 255}, ${n & 255}, ${share})`;
}

let webgl = null;
function hasWebgl() {
  if (webgl === null) {
    try { webgl = Boolean(document.createElement("canvas").getContext("webgl2")); } catch { webgl = false; }
  }
  return webgl;
}

const waiting = new WeakMap();
const sight = new IntersectionObserver((seen) => {
  for (const one of seen) if (one.isIntersecting) waiting.get(one.target)?.seen();
  else waiting.get(one.target)?.away();
}, { rootMargin: "250px" });
const width = new ResizeObserver((changed) => {
  for (const one of changed) waiting.get(one.target)?.resized();
});

// One chart. `spec` says what to draw: {lines, levels, axis, log, range, kind, wide, label}; see `draw`.
export class Chart {
  constructor(place, { onZoom = null } = {}) {
    this.place = place;
    this.onZoom = onZoom;
    this.spec = null;
    this.isSeen = false;
    this.isDirty = false;
    this.drawing = false;
    waiting.set(place, this);
    sight.observe(place);
    width.observe(place);
    this.recolour = () => this.set(this.spec);
    addEventListener("themechange", this.recolour);
  }

  set(spec) {
    this.spec = spec;
    this.isDirty = true;
    if (this.isSeen) this.draw();
  }

  seen() {
    this.isSeen = true;
    if (this.isDirty) this.draw();
  }

  away() {
    this.isSeen = false;
  }

  resized() {
    if (this.drawn && this.place.clientWidth) globalThis.Plotly?.Plots.resize(this.place).catch(() => {});
  }

  async draw() {
    if (!this.spec || this.drawing) return;
    this.drawing = true;
    const Plotly = await plotly();
    while (this.isDirty && this.place.isConnected) {
      this.isDirty = false;
      await Plotly.react(this.place, traces(this.spec), layout(this.spec, Boolean(this.onZoom)), { displayModeBar: false, doubleClick: false, showTips: false });
    }
    this.drawing = false;
    if (!this.drawn && this.place.isConnected) this.listen();
    this.drawn = true;
    this.place.dataset.drawn = "1";
    this.place.setAttribute("role", "img");
    this.place.setAttribute("aria-label", words(this.spec));
  }

  listen() {
    if (!this.onZoom) return;
    this.place.on("plotly_relayout", (change) => {
      const [begin, end] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      if (begin !== undefined && end !== undefined) this.onZoom([Number(begin), Number(end)]);
    });
    this.place.on("plotly_doubleclick", () => this.onZoom(null));
  }

  leave() {
    sight.unobserve(this.place);
    width.unobserve(this.place);
    waiting.delete(this.place);
    removeEventListener("themechange", this.recolour);
    if (this.drawn) globalThis.Plotly?.purge(this.place);
  }
}

// lines: {name, x, y, colour, width, dash, low, high, faintly, mode, text, step}; levels: {name, y}
function traces(spec) {
  const points = spec.lines.reduce((sum, line) => sum + line.x.length, 0);
  const type = points > MOST_SVG && hasWebgl() ? "scattergl" : "scatter";
  const found = [];
  spec.lines.forEach((line, number) => {
    const shade = line.colour ?? colour(number);
    const name = plain(line.name);
    if (line.low) {
      const back = { type: "scatter", mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false, x: line.x };
      found.push({ ...back, y: line.low }, { ...back, y: line.high, fill: "tonexty", fillcolor: faint(shade, 0.16) });
    }
    const few = line.x.length <= 30 && !line.faintly && !line.dash;
    found.push({
      type, name, x: line.x, y: line.y, mode: line.mode || (few ? "lines+markers" : "lines"), text: line.text?.map(plain),
      line: { color: line.faintly ? faint(shade, 0.3) : shade, width: line.width || (line.faintly ? 1 : 1.6), dash: line.dash, shape: line.step ? "hv" : "linear" },
      marker: { color: shade, size: line.mode === "markers" ? 8 : 4 },
      hoverinfo: line.faintly ? "skip" : undefined,
      hovertemplate: line.text ? "%{text}<extra></extra>" : `%{y:.5~g}<extra>${spec.lines.length > 1 ? name : ""}</extra>`,
    });
  });
  for (const [number, level] of (spec.levels || []).entries()) {
    const x = extent(spec);
    if (x) found.push({ type: "scatter", mode: "lines", x, y: [level.y, level.y], name: plain(level.name), hoverinfo: "skip", line: { color: level.colour ?? colour(number + spec.lines.length), width: 1, dash: "dot" } });
  }
  return found;
}

function extent(spec) {
  if (spec.range) return spec.range;
  const lines = spec.lines.filter((line) => line.x.length);
  return lines.length ? [Math.min(...lines.map((line) => line.x[0])), Math.max(...lines.map((line) => line.x[line.x.length - 1]))] : null;
}

function layout(spec, canZoom) {
  const font = { family: getComputedStyle(document.body).fontFamily, size: 11, color: ink("soft") };
  const axis = { gridcolor: ink("grid"), zerolinecolor: ink("rule"), linecolor: ink("rule"), tickfont: font, automargin: true, ticks: "" };
  const coarse = matchMedia("(pointer: coarse)").matches;
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font, showlegend: false,
    margin: { l: 40, r: 8, t: 6, b: spec.xTitle ? 36 : 22 },
    hovermode: spec.hover || (spec.lines.length > 12 ? "closest" : "x"), hoverdistance: spec.hover ? 30 : -1, dragmode: canZoom && !coarse ? "zoom" : false,
    hoverlabel: { font: { ...font, color: ink("ink") }, bgcolor: ink("card"), bordercolor: ink("rule"), namelength: 40 },
    xaxis: { ...axis, range: spec.range || undefined, autorange: !spec.range, nticks: 7, showgrid: false, title: spec.xTitle ? { text: plain(spec.xTitle), font } : undefined, type: spec.xLog ? "log" : spec.xType, exponentformat: "SI" },
    yaxis: { ...axis, fixedrange: true, type: spec.log ? "log" : "linear", nticks: 5, title: spec.yTitle ? { text: plain(spec.yTitle), font } : undefined, exponentformat: "SI" },
    uirevision: "same",
  };
}

function words(spec) {
  const lines = spec.lines.filter((line) => line.y.length && !line.faintly).slice(0, 8)
    .map((line) => `${line.name} from ${short(line.y[0])} to ${short(line.y[line.y.length - 1])}`);
  return `${spec.label || "chart"}: ${lines.join(", ") || "no points"}`;
}

export function legend(entries, onToggle = null) {
  return h("div", { class: "legend" }, entries.map((entry) => {
    const inside = [h("span", { class: "swatch", style: { background: entry.colour } }), entry.content ?? entry.name];
    return onToggle ? h("button", { type: "button", "aria-pressed": String(!entry.hidden), onclick: () => onToggle(entry) }, inside) : h("span", {}, inside);
  }));
}
