// Runs side by side: curves with intervals, what differs, scatter and parallel coordinates, what matters, who came from whom.

import { get, getCurves } from "./api.js";
import { setParams } from "./app.js";
import { Chart, colour, legend, plotly } from "./charts.js";
import { fill, h, runLink, section, table } from "./dom.js";
import { interval, percent, short, whole } from "./format.js";
import { setKeys } from "./keys.js";
import { follow } from "./live.js";
import { parallel } from "./parallel.js";
import { bars, tree } from "./parts.js";
import { badge } from "./status.js";

const POINTS = 400, AT_ONCE = 8;
const SCORE = "evaluation.score";

export async function show(main, params) {
  const page = new ComparePage(main, params);
  await page.begin();
  return () => page.leave();
}

class ComparePage {
  constructor(main, params) {
    this.main = main;
    this.runs = params.getAll("run");
    this.metrics = params.getAll("metric");
    this.axis = ["time", "agent_steps"].includes(params.get("x")) ? params.get("x") : "iteration";
    this.fold = params.get("fold") === "1";
    this.by = params.get("by") || "";
    this.smooth = Math.max(1, Number(params.get("smooth")) || 1);
    this.log = params.get("log") === "1";
    this.scatterOver = params.get("over") || "";
    this.hidden = new Set(params.getAll("hide"));
    this.charts = new Map();
    this.stop = () => {};
  }

  async begin() {
    document.title = "Compare · Holdfast";
    if (!this.runs.length) {
      fill(this.main, h("h1", {}, "Compare"), h("p", { class: "none" }, "Select runs in the table (x), then press c."));
      setKeys({});
      return;
    }
    plotly().catch(() => {});
    await this.load();
    if (!this.metrics.length) this.metrics = [this.data.metrics.includes(SCORE) ? SCORE : this.data.metrics.find((name) => name.startsWith("episode.")) || this.data.metrics[0]].filter(Boolean);
    this.frame();
    await this.draw();
    this.stop = follow({ since: this.data.since, on: { runs: (news) => news.runs.some((row) => this.runs.includes(row.id)) && this.soon() } });
    setKeys({
      f: ["fold seeds, or not", () => this.set({ fold: !this.fold })],
      l: ["log axis", () => this.set({ log: !this.log })],
    });
  }

  leave() {
    this.stop();
    clearTimeout(this.timer);
    for (const chart of this.charts.values()) chart.leave();
    this.scatter?.leave();
  }

  async load() {
    this.data = await get("/api/compare", { run: this.runs, by: this.by });
    this.rows = new Map(this.data.runs.map((row) => [row.id, row]));
  }

  soon() {
    this.timer ||= setTimeout(async () => {
      this.timer = 0;
      const before = JSON.stringify({ ...this.data, since: "" });
      try { await this.load(); if (before !== JSON.stringify({ ...this.data, since: "" })) this.fillTables(); await this.draw(); } catch (error) { console.warn(error.message); }
    }, 2000);
  }

  async set(changes) {
    Object.assign(this, changes);
    setParams({ run: this.runs, metric: this.metrics, x: this.axis === "iteration" ? "" : this.axis, fold: this.fold ? 1 : "", by: this.by, smooth: this.smooth === 1 ? "" : this.smooth,
      log: this.log ? 1 : "", over: this.scatterOver, hide: [...this.hidden] });
    if ("by" in changes || "runs" in changes) await this.load();
    this.frame();
    await this.draw();
  }

  // --- frame --------------------------------------------------------------------------------------------------------

  frame() {
    for (const chart of this.charts.values()) chart.leave();
    this.scatter?.leave();
    this.charts.clear();
    const option = (value, text, chosen) => h("option", { value, selected: value === chosen }, text);
    const varied = this.data.differences.map((one) => one.name);
    const add = h("select", { "aria-label": "Add a metric", id: "add-metric", onchange: () => this.set({ metrics: [...new Set([...this.metrics, add.value])] }) }, h("option", { value: "" }, "+ metric"), this.data.metrics.map((name) => option(name, name)));
    const axis = h("select", { "aria-label": "Horizontal axis", onchange: () => this.set({ axis: axis.value }) }, option("iteration", "over iterations", this.axis), option("time", "over time, s", this.axis), option("agent_steps", "over agent-steps", this.axis));
    const fold = h("input", { type: "checkbox", id: "fold", checked: this.fold, onchange: () => this.set({ fold: fold.checked }) });
    const by = h("select", { "aria-label": "Groups", onchange: () => this.set({ by: by.value }) }, option("", "groups: same configuration", this.by), varied.map((name) => option(name, `groups: ${name}`, this.by)));
    const smooth = h("input", { type: "number", min: 1, max: 10000, value: this.smooth, "aria-label": "Smoothing, rows", onchange: () => this.set({ smooth: Math.max(1, Math.floor(Number(smooth.value)) || 1) }) });
    const log = h("input", { type: "checkbox", checked: this.log, onchange: () => this.set({ log: log.checked }) });
    this.chips = h("div", { class: "chips" });
    this.names = h("div", { class: "names" });
    this.plots = h("div");
    this.tables = h("div");
    fill(this.main,
      h("div", { class: "head" }, h("h1", {}, `Compare ${this.runs.length} ${this.runs.length === 1 ? "run" : "runs"}`), h("span", { class: "soft" }, "the address of this page shows the same again")),
      h("div", { class: "tools" }, add, axis, h("label", {}, fold, "fold seeds (IQM, 95 %)"), by, h("label", {}, "smooth", smooth, "rows"), h("label", {}, log, "log")),
      this.chips, this.plots, this.names, this.tables);
    fill(this.plots, this.metrics.map((name) => this.metricCard(name)));
    this.fillChips();
    this.fillTables();
  }

  metricCard(name) {
    const plot = h("div", { class: "plot tall", "data-metric": name });
    this.charts.set(name, new Chart(plot));
    const close = h("button", { type: "button", class: "plain", "aria-label": `Remove ${name}`, onclick: () => this.set({ metrics: this.metrics.filter((one) => one !== name) }) }, "×");
    return h("div", { class: "card chart" }, h("header", {}, h("span", { class: "title" }, name), h("span", { class: "room" }), close), plot);
  }

  fillChips() {
    const swatch = (id, at) => h("span", { class: "swatch", style: { background: `var(--line-${this.place(id, at) % 10})` } });
    const chip = (id, at) => h("span", { class: `chip ${this.hidden.has(id) ? "hiddenline" : ""}` },
      this.fold ? swatch(id, at) : h("button", { type: "button", class: "toggle", "aria-pressed": String(!this.hidden.has(id)), "aria-label": `Show ${id}`, onclick: () => this.toggle(id) }, swatch(id, at)), runLink(id),
      h("button", { type: "button", "aria-label": `Remove ${id}`, onclick: () => this.set({ runs: this.runs.filter((one) => one !== id) }) }, "×"));
    const chips = [this.runs.slice(0, 100).map(chip), this.runs.length > 100 ? h("span", { class: "soft" }, `and ${this.runs.length - 100} more`) : null];
    const open = !this.fold && this.runs.length <= 24;
    fill(this.chips, open ? chips : h("details", {}, h("summary", {}, `The ${this.runs.length} runs`), h("div", { class: "chips" }, chips)));
  }

  // With seeds folded, the runs of a group share its colour.
  place(id, at) {
    return this.fold ? this.data.groups.findIndex((group) => group.runs.includes(id)) : at;
  }

  // --- curves -------------------------------------------------------------------------------------------------------

  async draw() {
    const mine = (this.drawing = (this.drawing || 0) + 1);
    await Promise.all(this.metrics.map((name) => this.drawMetric(name, () => mine === this.drawing)));
    this.main.dataset.drawn = String(Number(this.main.dataset.drawn || 0) + 1);
  }

  async drawMetric(name, isNow) {
    const params = { name, x: this.axis, points: POINTS, smooth: this.smooth, by: this.by };
    const lines = new Map();
    if (this.fold) {
      const { curves } = await getCurves("/api/compare/curves", { ...params, run: this.runs, fold: 1 });
      for (const curve of curves) lines.set(curve.name, curve);
      if (isNow()) this.drawGroups(name, lines);
      return;
    }
    for (let at = 0; at < this.runs.length; at += AT_ONCE) { // shown as they come
      const { curves } = await getCurves("/api/compare/curves", { ...params, run: this.runs.slice(at, at + AT_ONCE) });
      if (!isNow()) return;
      for (const curve of curves) lines.set(curve.name, curve);
      if (at === 0 || at + AT_ONCE >= this.runs.length || at % (4 * AT_ONCE) === 0) this.drawRuns(name, lines);
    }
  }

  drawRuns(name, curves) {
    const shown = this.runs.map((id, at) => [id, at, curves.get(id)]).filter(([id, , curve]) => curve && !this.hidden.has(id));
    this.charts.get(name)?.set({ lines: shown.map(([id, at, curve]) => ({ name: id, x: curve.x, y: curve.y, colour: colour(at) })), log: this.log, label: name, xTitle: axisTitle(this.axis) });
  }

  drawGroups(name, curves) {
    const groups = this.data.groups.map((group, at) => ({ group, at, curve: curves.get(group.key) })).filter((one) => one.curve);
    const shown = groups.filter((one) => !this.hidden.has(one.group.key));
    this.charts.get(name)?.set({ lines: shown.map(({ group, at, curve }) => ({ name: this.label(group), x: curve.x, y: curve.y, low: curves.get(`${group.key}|low`).y, high: curves.get(`${group.key}|high`).y, colour: colour(at), width: 2 })),
      log: this.log, label: `${name}, interquartile mean`, xTitle: axisTitle(this.axis) });
    this.fillNames(groups.map(({ group, at }) => ({ name: group.key, content: `${this.label(group)} (${group.runs.length})`, colour: colour(at), hidden: this.hidden.has(group.key) })));
  }

  label(group) {
    const same = this.data.groups.filter((one) => one.label === group.label).length > 1;
    return same ? `${group.label} ${group.key.slice(0, 4)}` : group.label;
  }

  fillNames(entries) {
    fill(this.names, legend(entries.slice(0, 60), (entry) => this.toggle(entry.name)));
  }

  toggle(name) {
    if (this.hidden.has(name)) this.hidden.delete(name);
    else this.hidden.add(name);
    this.set({});
  }

  // --- tables and pictures of options ----------------------------------------------------------------------------------

  fillTables() {
    const { differences, importance, lineage } = this.data;
    fill(this.tables,
      section("groups", "Scores", this.groupTable()),
      section("differences", "What differs", this.differenceTable()),
      differences.length ? section("options", "Options and scores", this.scatterCard(), h("div", { class: "card" }, parallel(this.data))) : null,
      importance.length ? section("importance", "What matters", bars(importance.slice(0, 20).map((one) => ({ name: one.name, share: one.share, words: percent(one.share) }))),
        h("p", { class: "note" }, "Share of the spread of scores that each option explains by itself; options that changed together cannot be told apart.")) : null,
      lineage.length ? section("lineage", "Lineage", tree(lineage)) : null);
    this.drawScatter();
  }

  groupTable() {
    const many = this.data.groups.some((group) => group.runs.length > 1) || this.by;
    if (many) {
      return [table([{ title: "group" }, { title: "runs", number: true }, { title: "IQM", number: true }, { title: "95 %", number: true }, { title: "mean", number: true }, { title: "median", number: true }, { title: "best", number: true }],
        this.data.groups.map((group) => [this.label(group), whole(group.runs.length), short(group.fold?.iqm), group.fold ? `${interval(group.fold.low, group.fold.high)}${group.fold.few ? " *" : ""}` : "", short(group.fold?.mean), short(group.fold?.median), short(group.best)]), { label: "Groups" }),
      h("p", { class: "note" }, "IQM: mean of the middle half, with a bootstrap interval over the runs. * fewer than 5 runs: the interval says little."),
      h("details", { class: "more" }, h("summary", {}, "Every run"), this.runTable())];
    }
    return this.runTable();
  }

  runTable() {
    return table([{ title: "run" }, { title: "status", class: "nowrap" }, { title: "seed", number: true }, { title: "iteration", number: true }, { title: "score", number: true }, { title: "95 %", number: true }, { title: "steps/s", number: true }],
      [...this.rows.values()].map((row) => [runLink(row.id), badge(row), row.seed === null ? "" : String(row.seed), whole(row.iteration), short(row.score), interval(row.low, row.high), short(row.speed, 3)]), { class: "scroll tall", label: "Runs" });
  }

  differenceTable() {
    const { differences, runs } = this.data;
    if (!differences.length) return h("p", { class: "none" }, "Their configurations differ in nothing but names and seeds.");
    const folded = !this.by && this.data.groups.length < runs.length; // runs of a group differ in nothing that is shown
    const all = folded ? this.data.groups.map((group) => ({ title: this.label(group), at: runs.findIndex((row) => row.id === group.runs[0]) })) : runs.map((row, at) => ({ title: row.id, at }));
    const shown = all.slice(0, 24);
    return [table([{ title: "option" }, ...shown.map(({ title }) => ({ title }))], differences.map((one) => [h("code", {}, one.name), ...shown.map(({ at }) => one.values[at] ?? "–")]), { class: "scroll tall", label: "Options that differ" }),
      all.length > 24 ? h("p", { class: "note" }, `The first 24 of ${all.length}.`) : null];
  }

  scatterCard() {
    const names = this.data.differences.map((one) => one.name);
    if (!names.includes(this.scatterOver)) this.scatterOver = this.data.importance[0]?.name || names[0];
    const choose = h("select", { "aria-label": "Scores over", id: "scatter-over", onchange: () => { this.scatterOver = choose.value; setParams({ over: choose.value }); this.drawScatter(); } }, names.map((name) => h("option", { value: name, selected: name === this.scatterOver }, name)));
    this.scatter?.leave();
    this.scatterPlot = h("div", { class: "plot wide", id: "scatter" });
    this.scatter = new Chart(this.scatterPlot);
    return h("div", { class: "card" }, h("div", { class: "tools" }, h("label", {}, "score over", choose)), this.scatterPlot);
  }

  drawScatter() {
    const option = this.data.differences.find((one) => one.name === this.scatterOver);
    if (!option || !this.scatter) return;
    const judged = this.data.runs.map((row, at) => ({ row, value: option.numbers[at] ?? option.values[at] })).filter((one) => one.row.score !== null && one.value !== null);
    const numbers = judged.every((one) => typeof one.value === "number");
    const values = judged.map((one) => (numbers ? one.value : String(one.value)));
    const wide = numbers && values.every((value) => value > 0) && Math.max(...values) / Math.min(...values) > 50;
    this.scatter.set({ lines: [{ name: "runs", x: values, y: judged.map((one) => one.row.score), mode: "markers", text: judged.map((one) => `${one.row.id}: ${short(one.row.score)}`) }],
      hover: "closest", xTitle: option.name, yTitle: "score", xLog: wide, xType: numbers ? "linear" : "category", label: `score over ${option.name}` });
  }
}

const axisTitle = (axis) => ({ iteration: "iteration", time: "time, s", agent_steps: "agent-steps" })[axis];

