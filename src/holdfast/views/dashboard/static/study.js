// Studies: which there are; and of one, how far it is, what waits, what failed, what is best so far.

import { get } from "./api.js";
import { setParams } from "./app.js";
import { Chart, colour } from "./charts.js";
import { fill, h, runLink, section, table } from "./dom.js";
import { percent, short, span, whole } from "./format.js";
import { setKeys } from "./keys.js";
import { follow } from "./live.js";
import { bars, tree } from "./parts.js";

const SIGNS = { waiting: "○", running: "●", done: "✓", pruned: "✂", failed: "✕", lost: "◐", unknown: "?" };
const COLOURS = { done: "var(--good)", running: "var(--accent)", pruned: "var(--line-5)", failed: "var(--bad)", lost: "var(--warn)" };

export async function show(main, params) {
  const id = params.get("id");
  document.title = `${id || "Studies"} · Holdfast`;
  setKeys({});
  if (!id) return list(main);
  const page = new StudyPage(main, id, params);
  await page.refresh();
  page.stop = follow({ since: page.data.since, on: { runs: () => page.soon() } });
  page.beat = setInterval(() => page.refresh().catch(() => {}), 5000); // trials.jsonl may change without a run
  return () => page.leave();
}

async function list(main) {
  const { studies } = await get("/api/studies");
  const line = (one) => [h("a", { href: `/study?${new URLSearchParams({ id: one.id })}`, "data-nav": true }, one.id), countsWords(one.counts), whole(one.trials), short(one.best)];
  fill(main, h("h1", {}, "Studies"), studies.length ? table([{ title: "study" }, { title: "trials stand" }, { title: "trials", number: true }, { title: "best", number: true }], studies.map(line), { label: "Studies" })
    : h("p", { class: "none" }, "No study here: a folder with a study.toml, below the root or in studies/ beside it."));
}

const ORDER = ["done", "pruned", "failed", "lost", "running", "waiting"];
const inOrder = (counts) => Object.entries(counts).sort((a, b) => ORDER.indexOf(a[0]) - ORDER.indexOf(b[0]));
const countsWords = (counts) => inOrder(counts).map(([state, count]) => `${count} ${state}`).join(", ") || "no trial yet";

class StudyPage {
  constructor(main, id, params) {
    this.main = main;
    this.id = id;
    this.over = params.get("over") || "";
    this.plot = h("div", { class: "plot wide" });
    this.chart = new Chart(this.plot);
  }

  leave() {
    this.stop();
    clearInterval(this.beat);
    clearTimeout(this.timer);
    this.chart.leave();
  }

  soon() {
    this.timer ||= setTimeout(() => { this.timer = 0; this.refresh().catch(() => {}); }, 500);
  }

  async refresh() {
    const data = await get("/api/study", { id: this.id });
    const text = JSON.stringify({ ...data, since: "" });
    if (text === this.text) return;
    this.text = text;
    this.data = data;
    const open = [...this.main.querySelectorAll("details[open]")].map((one) => one.dataset.key);
    this.draw();
    for (const one of this.main.querySelectorAll("details")) one.open = open.includes(one.dataset.key);
  }

  draw() {
    const { data } = this;
    const total = data.trials.length || 1;
    const over = data.trials.filter((one) => ["done", "pruned", "failed"].includes(one.state)).length;
    const options = [...new Set(data.trials.flatMap((one) => Object.keys(one.options)))];
    const choose = h("select", { "aria-label": "Scores over", onchange: () => { this.over = choose.value; setParams({ over: this.over }); this.drawScores(); } },
      h("option", { value: "" }, "over trials"), options.map((name) => h("option", { value: name, selected: name === this.over }, `over ${name}`)));
    fill(this.main,
      h("div", { class: "head" }, h("h1", {}, data.id), h("span", { class: "soft" }, countsWords(data.counts))),
      data.damaged ? h("p", { class: "problem" }, "study.toml cannot be read") : null,
      h("div", { class: "shares", role: "img", "aria-label": countsWords(data.counts) }, inOrder(data.counts).map(([state, count]) => h("i", { title: `${count} ${state}`, style: { width: `${(100 * count) / total}%`, background: COLOURS[state] || "var(--grid)" } }))),
      h("p", { class: "note" }, `${over} of ${data.trials.length} trials are over (${percent(over / total)}).`),
      h("dl", { class: "tiles" }, this.best(data.best)),
      section("scores", "Scores", h("div", { class: "tools" }, choose), h("div", { class: "card" }, this.plot)),
      section("trials", "Trials", this.trials(data.trials, options)),
      data.failures.length ? section("failures", "Failures", data.failures.map((one) => h("details", { "data-key": `failure ${one.trial}`, class: "failure" }, h("summary", {}, `trial ${one.trial}: ${one.reason || "no reason was written"}`), h("pre", {}, one.traceback || "no traceback was kept")))) : null,
      data.importance.length ? section("importance", "What matters", bars(data.importance.map((one) => ({ name: one.name, share: one.share, words: percent(one.share) }))), h("p", { class: "note" }, data.importance_by)) : null,
      data.lineage.length ? section("lineage", "Lineage", tree(data.lineage)) : null,
      section("settings", "Settings", table([{ title: "option" }, { title: "value" }], Object.entries(data.settings).map(([name, value]) => [h("code", {}, name), value]), { label: "study.toml" })));
    this.drawScores();
  }

  best(best) {
    const tile = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
    if (!best) return tile("best so far", "none yet");
    return [tile("best so far", short(best.score)), tile("trial", best.run ? runLink(best.run, best.trial) : best.trial), ...Object.entries(best.options).slice(0, 6).map(([name, value]) => tile(name, value))];
  }

  drawScores() {
    const judged = this.data.trials.filter((one) => one.score !== null);
    const value = (one) => (this.over ? one.options[this.over] : Number(one.trial));
    const numbers = judged.every((one) => Number.isFinite(Number(value(one))));
    const x = judged.map((one) => (numbers ? Number(value(one)) : String(value(one))));
    const text = judged.map((one) => `trial ${one.trial}: ${short(one.score)}`);
    const lines = [{ name: "trials", x, y: judged.map((one) => one.score), mode: "markers", text, colour: colour(0) }];
    if (!this.over && numbers && judged.length) {
      let best = judged[0].score;
      const pick = this.data.lower ? Math.min : Math.max;
      lines.push({ name: "best so far", x, y: judged.map((one) => (best = pick(best, one.score))), colour: colour(2), step: true });
    }
    this.chart.set({ lines, label: "scores of the trials", hover: "closest", xTitle: this.over || "trial", xType: numbers ? "linear" : "category" });
  }

  trials(trials, options) {
    const shown = options.slice(0, 8);
    const columns = [{ title: "trial", number: true }, { title: "state", class: "nowrap" }, ...shown.map((name) => ({ title: name.split(".").pop() })), { title: "seed", number: true }, { title: "progress" }, { title: "left", number: true }, { title: "score", number: true }, { title: "tries", number: true }, { title: "took", number: true }, { title: "", class: "words" }];
    const line = (one) => [one.run ? runLink(one.run, one.trial) : one.trial, h("span", { style: { color: COLOURS[one.state] || "inherit" } }, `${SIGNS[one.state]} ${one.state}`), ...shown.map((name) => one.options[name] ?? ""),
      one.seed === null ? "" : String(one.seed), one.iterations ? `${whole(one.iteration)} of ${whole(one.iterations)}` : "", one.left_s === null ? "" : span(one.left_s), short(one.score), one.tries === null ? "" : String(one.tries), one.elapsed_s ? span(one.elapsed_s) : "", [one.generation ? `generation ${one.generation}. ` : "", one.reason]];
    return table(columns, trials.map(line), { class: "scroll tall", label: "Trials" });
  }
}
