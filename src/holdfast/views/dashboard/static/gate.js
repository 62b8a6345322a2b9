// What the gate decided, with its evidence, and what it would have decided under other thresholds.

import { get, post } from "./api.js";
import { setParams } from "./app.js";
import { Chart, colour } from "./charts.js";
import { debounced, fill, h, table } from "./dom.js";
import { short, whole } from "./format.js";

export class GatePanel {
  constructor(id, params) {
    this.id = id;
    this.changes = {};
    for (const one of params.getAll("gate")) {
      const [name, value] = [one.slice(0, one.lastIndexOf(":")), Number(one.slice(one.lastIndexOf(":") + 1))];
      if (name && Number.isFinite(value)) this.changes[name] = value;
    }
    this.decisions = h("div");
    this.sliders = h("div", { class: "sliders", id: "sliders" });
    this.answer = h("div", { id: "what-if", role: "status" });
    this.place = h("div", {}, h("div", { class: "two" },
      h("div", {}, h("h3", {}, "What if the thresholds were others?"), this.sliders), this.answer), h("h3", {}, "As it decided"), this.decisions);
    this.plot = h("div", { class: "plot" });
    this.chart = new Chart(this.plot);
    this.load();
  }

  leave() {
    this.chart.leave();
  }

  refresh = debounced(() => this.load(), 1000);

  async load() {
    let found;
    try { found = await get("/api/run/gate", { id: this.id }); } catch (error) { fill(this.answer, h("p", { class: "problem" }, error.message)); return; }
    this.showDecisions(found.decisions);
    if (found.problem) { fill(this.answer, h("p", { class: "none" }, found.problem)); return; }
    const names = found.sliders.map((one) => one.name).join();
    if (names !== this.names) this.showSliders(found.sliders);
    this.names = names;
    this.replay();
  }

  showDecisions(decisions) {
    const line = (one) => [whole(one.iteration), one.type, h("strong", {}, one.event.replaceAll("_", " ")), one.before === one.after ? String(one.after) : `${one.before} → ${one.after}`,
      h("details", {}, h("summary", {}, one.because), table([{ title: "test" }, { title: "for" }, { title: "value", number: true }, { title: "" }, { title: "threshold", number: true }, { title: "margin", number: true }, { title: "verdict" }],
        one.criteria.map((test) => [test.name, test.role, short(test.value), test.op, short(test.threshold), short(test.margin), h("span", { class: `verdict-${test.verdict}` }, String(test.verdict).replace("_", " "))]), { label: "Evidence" }))];
    fill(this.decisions, decisions.length ? table([{ title: "iteration", number: true }, { title: "type" }, { title: "decision", class: "nowrap" }, { title: "level" }, { title: "because", class: "words" }], decisions.map(line), { class: "scroll tall", label: "Decisions of the gate" }) : h("p", { class: "none" }, "No decision yet."));
  }

  showSliders(sliders) {
    this.original = Object.fromEntries(sliders.map((one) => [one.name, one.value]));
    fill(this.sliders, sliders.map((one) => this.slider(one)), h("div", {}, h("button", { type: "button", onclick: () => { this.changes = {}; this.showSliders(sliders); this.replay(); } }, "Back to the run's own")));
  }

  slider(one) {
    const value = this.changes[one.name] ?? one.value;
    const name = one.name.replaceAll("_", " ").replace(".", ", type ");
    const number = h("input", { type: "number", value, step: "any", "aria-label": `${name}, as a number`, oninput: () => set(number.value) });
    const rail = h("input", { type: "range", min: one.low, max: one.high, step: one.step, value, "aria-label": name, "data-option": one.name, oninput: () => set(rail.value) });
    const ticks = one.measured.slice(-200).filter((seen) => seen >= one.low && seen <= one.high)
      .map((seen) => h("span", { class: "seen", style: { left: `calc(8px + (100% - 16px) * ${(seen - one.low) / (one.high - one.low || 1)})` } }));
    const place = h("div", { class: "slider" }, h("label", {}, `${name} (the run had ${short(one.value)})`), h("div", { class: "rail" }, rail, ticks), number);
    const mark = () => place.classList.toggle("changed", one.name in this.changes);
    const set = (text) => {
      const given = Number(text);
      if (!Number.isFinite(given) || text === "") return;
      rail.value = given;
      if (Number(number.value) !== given) number.value = given;
      if (given === one.value) delete this.changes[one.name];
      else this.changes[one.name] = given;
      mark();
      this.replay();
    };
    mark();
    return place;
  }

  replay = debounced(async () => {
    setParams({ gate: Object.entries(this.changes).map(([name, value]) => `${name}:${value}`) });
    try {
      this.showAnswer(await post("/api/what-if", { run: this.id, changes: this.changes }));
    } catch (error) {
      fill(this.answer, h("p", { class: "problem" }, error.message));
    }
  }, 25);

  showAnswer({ rows, parts_at: partsAt, command }) {
    const others = rows.filter((row) => !row.same).length;
    const words = !Object.keys(this.changes).length ? "Move a slider: the recorded evaluations are judged again at once."
      : others ? `They part at iteration ${whole(partsAt)}; ${others} of ${rows.length} decisions would have been others.` : "The same decisions at every evaluation.";
    const x = rows.map((row) => row.iteration);
    this.chart.set({ label: "level of the gate", lines: [
      { name: "as it was", x, y: rows.map((row) => row.before), colour: colour(5), step: true, dash: "dot" },
      { name: "as it would have been", x, y: rows.map((row) => row.after), colour: colour(0), step: true, width: 2 }] });
    fill(this.answer, h("p", { id: "what-if-words" }, words),
      h("div", { class: "card" }, h("p", { class: "meaning note" }, "level: dotted as it was, solid as it would have been"), this.plot),
      command ? h("p", { class: "note" }, "as options of a new run: ", h("code", {}, command)) : null,
      others ? table([{ title: "iteration", number: true }, { title: "as it was", class: "nowrap" }, { title: "as it would have been", class: "nowrap" }, { title: "because", class: "words" }],
        rows.filter((row) => !row.same).map((row) => ({ attributes: { class: "other" }, cells: [whole(row.iteration), row.recorded, row.replayed, row.because] })), { class: "scroll tall", label: "Decisions that would be others" }) : null);
  }
}
