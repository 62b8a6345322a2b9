// The curves of one run: searched, smoothed, on a log axis, over three kinds of x, zoomed together.

import { getCurves } from "./api.js";
import { setParams } from "./app.js";
import { Chart, colour } from "./charts.js";
import { debounced, fill, h } from "./dom.js";
import { short } from "./format.js";

const POINTS = 500, ZOOMED_POINTS = 2000;
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
const HEADINGS = [
  [/^evaluation\./, "Evaluation"], [/^episode\./, "Training episodes"], [/^learner\.([^.]+)\./, "Learner"],
  [/^duel\./, "Self-play"], [/^curriculum\./, "Curriculum"], [/^starts\./, "Starts"], [/^phase\.|^elapsed|^agent_steps_per_s|^memory_mb/, "Time and memory"],
  [/^resources\./, "Machine"], [/./, "Counts"],
];
const DRAWN_ELSEWHERE = ["evaluation.score", "evaluation.score_low", "evaluation.score_high"];

export class Curves {
  constructor(id, params, meanings) {
    this.id = id;
    this.meanings = meanings;
    this.axis = ["time", "agent_steps"].includes(params.get("x")) ? params.get("x") : "iteration";
    this.smooth = Math.max(1, Number(params.get("smooth")) || 1);
    this.log = params.get("log") === "1";
    this.search = params.get("curves") || "";
    const range = (params.get("zoom") || "").split("~").map(Number);
    this.range = range.length === 2 && range.every(Number.isFinite) ? range : null;
    this.cards = new Map();
    this.levels = []; // of the evaluation chart
    this.cost_ms = 0;
    this.place = h("div");
    this.tools();
  }

  tools() {
    const option = (value, text) => h("option", { value, selected: value === this.axis }, text);
    this.field = h("input", { type: "search", id: "curve-search", value: this.search, placeholder: "search curves", "aria-label": "Search curves",
      oninput: debounced(() => { this.search = this.field.value.trim(); setParams({ curves: this.search }); this.show(); }, 80) });
    const axis = h("select", { "aria-label": "Horizontal axis", onchange: () => { this.axis = axis.value; this.range = null; setParams({ x: axis.value === "iteration" ? "" : axis.value, zoom: "" }); this.load(); } },
      option("iteration", "over iterations"), option("time", "over time, s"), option("agent_steps", "over agent-steps"));
    this.smoothing = h("input", { type: "range", min: 0, max: STEPS.length - 1, value: Math.max(0, STEPS.findIndex((step) => step >= this.smooth)), "aria-label": "Smoothing, rows",
      oninput: () => { this.smooth = STEPS[this.smoothing.value]; this.smoothed.textContent = this.smoothWords(); this.soon(); } });
    this.smoothed = h("span", { class: "soft" }, this.smoothWords());
    this.logBox = h("input", { type: "checkbox", checked: this.log, onchange: () => this.setLog(this.logBox.checked) });
    this.reset = h("button", { type: "button", hidden: !this.range, onclick: () => this.zoom(null) }, "Reset zoom");
    this.bar = h("div", { class: "tools" }, h("span", { class: "field" }, this.field, h("kbd", { "aria-hidden": "true" }, "/")), axis,
      h("label", {}, "smooth", this.smoothing, this.smoothed), h("label", {}, this.logBox, "log"), this.reset);
    this.note = h("p", { class: "note" });
  }

  smoothWords() {
    return this.smooth === 1 ? "off" : `${this.smooth} rows`;
  }

  soon = debounced(() => { setParams({ smooth: this.smooth === 1 ? "" : this.smooth }); this.load(); }, 120);

  setLog(on) {
    this.log = on;
    this.logBox.checked = on;
    setParams({ log: on ? 1 : "" });
    this.show();
  }

  zoom(range) {
    this.range = range && range[0] < range[1] ? range : null;
    this.reset.hidden = !this.range;
    setParams({ zoom: this.range ? this.range.map((one) => Number(one.toPrecision(8))).join("~") : "" });
    this.load();
  }

  async load() {
    this.asked?.abort();
    const asked = (this.asked = new AbortController());
    const begun = performance.now();
    const params = { id: this.id, x: this.axis, points: this.range ? ZOOMED_POINTS : POINTS };
    if (this.range) [params.from, params.to] = this.range;
    try {
      const wanted = [getCurves("/api/run/curves", params, asked.signal)];
      if (this.smooth > 1) wanted.push(getCurves("/api/run/curves", { ...params, smooth: this.smooth }, asked.signal));
      const [raw, smooth] = await Promise.all(wanted);
      if (asked !== this.asked) return;
      this.raw = new Map(raw.curves.map((curve) => [curve.name, curve]));
      this.smoothCurves = smooth ? new Map(smooth.curves.map((curve) => [curve.name, curve])) : null;
    } catch (error) {
      if (error.name === "AbortError") return;
      throw error;
    }
    this.cost_ms = performance.now() - begun;
    this.show();
  }

  // --- drawing ------------------------------------------------------------------------------------------------------

  show() {
    if (!this.raw) return;
    const needle = this.search.toLowerCase();
    const groups = new Map(HEADINGS.map(([, title]) => [title, []]));
    const same = [];
    for (const curve of this.raw.values()) {
      if (DRAWN_ELSEWHERE.includes(curve.name) || (needle && !curve.name.toLowerCase().includes(needle))) continue;
      if (!needle && curve.n > 1 && curve.y.every((value) => value === curve.y[0])) same.push(curve);
      else groups.get(HEADINGS.find(([shape]) => shape.test(curve.name))[1]).push(curve);
    }
    const wanted = [...groups].flatMap(([title, curves]) => curves.length ? [[title, curves]] : []);
    const shape = wanted.map(([title, curves]) => title + curves.map((curve) => curve.name).join()).join("|");
    if (shape !== this.shape) this.build(wanted);
    this.shape = shape;
    for (const [, curves] of wanted) for (const curve of curves) this.fillCard(curve);
    const thinned = [...this.raw.values()].some((curve) => curve.rows > curve.n);
    const constant = same.length ? `The same throughout: ${same.map((curve) => `${curve.name} ${short(curve.y[0])}`).join(", ")}. ` : "";
    const few = thinned ? "Thinned for the screen: lows and highs are kept, zooming in shows every row." : "";
    this.note.textContent = wanted.length ? constant + few : `No curve has “${this.search}” in its name.`;
    this.drawScore();
  }

  build(groups) {
    for (const card of this.cards.values()) card.chart.leave();
    this.cards.clear();
    fill(this.place, groups.map(([title, curves]) => [h("h3", {}, title), h("div", { class: "cards" }, curves.map((curve) => this.card(curve.name)))]));
  }

  card(name) {
    const plot = h("div", { class: "plot" });
    const last = h("span", { class: "last" });
    const { meaning, unit } = this.meanings(name);
    const told = meaning ? `${meaning}${unit ? ` (${unit})` : ""}` : "";
    this.cards.set(name, { chart: new Chart(plot, { onZoom: (range) => this.zoom(range) }), last });
    return h("div", { class: "card chart", "data-curve": name }, h("header", {}, h("span", { class: "title", title: name }, name.replace(/^(episode|evaluation|curriculum|resources|learner)\./, "")), last),
      h("p", { class: "meaning", title: told }, told || "\u00a0"), plot);
  }

  fillCard(curve) {
    const card = this.cards.get(curve.name);
    const smooth = this.smoothCurves?.get(curve.name);
    const first = { name: curve.name, x: curve.x, y: curve.y, colour: colour(0), faintly: Boolean(smooth) };
    const lines = smooth ? [first, { ...first, x: smooth.x, y: smooth.y, faintly: false }] : [first];
    card.last.textContent = short((smooth || curve).y[curve.n ? (smooth || curve).n - 1 : 0]);
    card.chart.set({ lines, log: this.log && curve.y.some((value) => value > 0), range: this.range, label: curve.name });
  }

  scoreChart(levels, words) {
    this.levels = levels;
    this.scoreWords = words;
    this.scorePlot = h("div", { class: "plot wide", id: "score-plot" });
    this.score = new Chart(this.scorePlot, { onZoom: (range) => this.zoom(range) });
    this.drawScore();
    return this.scorePlot;
  }

  drawScore() {
    const score = this.raw?.get("evaluation.score");
    if (!this.score || !score) return;
    const [low, high] = ["evaluation.score_low", "evaluation.score_high"].map((name) => this.raw.get(name));
    const band = low?.n === score.n && high?.n === score.n ? { low: low.y, high: high.y } : {};
    const lines = [{ name: "learned", x: score.x, y: score.y, colour: colour(0), width: 2, ...band }];
    for (const name of ["evaluation.ceiling_avg", "evaluation.floor"]) {
      const bound = this.raw.get(name);
      if (bound) lines.push({ name: name.slice(11).replace("_", " "), x: bound.x, y: bound.y, colour: colour(5), dash: "dash", width: 1 });
    }
    this.score.set({ lines, levels: this.levels, range: this.range, label: this.scoreWords });
  }

  leave() {
    this.asked?.abort();
    this.score?.leave();
    for (const card of this.cards.values()) card.chart.leave();
  }
}
