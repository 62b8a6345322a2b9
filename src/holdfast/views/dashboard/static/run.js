// One run: how it stands, its curves and evaluations, what happened and why, what it is made of.

import { get, post } from "./api.js";
import { colour, plotly } from "./charts.js";
import { Curves } from "./curves.js";
import { byId, fill, h, section, table } from "./dom.js";
import { Films } from "./films.js";
import { age, clock, interval, percent, short, span, when, whole } from "./format.js";
import { GatePanel } from "./gate.js";
import { setKeys } from "./keys.js";
import { follow, sayRoot } from "./live.js";
import { badge, left, progress, score } from "./status.js";

export async function show(main, params) {
  const page = new RunPage(main, params);
  await page.begin();
  return () => page.leave();
}

class RunPage {
  constructor(main, params) {
    this.main = main;
    this.params = params;
    this.id = params.get("id") || "";
    this.stop = () => {};
  }

  async begin() {
    document.title = `${this.id} · Holdfast`;
    this.curves = new Curves(this.id, this.params, (name) => this.meaning(name));
    plotly().catch(() => {}); // loads while the server reads; what goes wrong here is told when a chart is drawn
    const curves = this.curves.load();
    curves.catch(() => {}); // told below, with what else is wrong
    const [data, { metrics }] = await Promise.all([get("/api/run", { id: this.id }), get("/api/metrics")]);
    metrics.sort((a, b) => a[0].includes("{") - b[0].includes("{")); // a whole name before one with a place to fill in
    this.known = metrics.map(([name, unit, meaning]) => ({ shape: shapeOf(name), unit: /^(1|count|as the world says)$/.test(unit) ? "" : unit, meaning }));
    this.data = data;
    this.frame();
    this.fillAll();
    await curves;
    this.curves.shape = null; // drawn again, now that meanings are known
    this.curves.show();
    performance.mark("first-run");
    this.follow();
    this.keys();
    if (location.hash) byId(location.hash.slice(1))?.scrollIntoView();
  }

  leave() {
    this.stop();
    clearTimeout(this.timer);
    this.curves.leave();
    this.gate?.leave();
  }

  meaning(name) {
    return this.known?.find((one) => one.shape.test(name)) || { meaning: "", unit: "" };
  }

  // --- frame --------------------------------------------------------------------------------------------------------

  frame() {
    const data = this.data;
    this.top = h("div");
    this.parts = Object.fromEntries(["hints", "evaluations", "times", "timeline", "checkpoints", "machine"].map((name) => [name, h("div")]));
    this.films = new Films(this.id, data, () => this.refresh());
    const links = [["evaluation", "Evaluations"], ["curves", "Curves"], ["episodes", "Episodes"], ["time", "Time"], data.gated && ["gate", "Gate"],
      ["timeline", "Timeline"], ["game", "Game"], ["configuration", "Configuration"], ["checkpoints", "Checkpoints"], ["notes", "Notes"]].filter(Boolean);
    this.gameWords = h("p", { class: "note" }, "What only this game tells is being put together …");
    this.gamePlace = h("section", { id: "game", hidden: true }, h("h2", {}, "Game"), this.gameWords);
    fill(this.main, this.top,
      h("nav", { class: "subnav", "aria-label": "On this page" }, links.map(([id, text]) => h("a", { href: `#${id}` }, text))),
      this.parts.hints,
      section("evaluation", "Evaluations", this.parts.evaluations),
      section("curves", "Curves", this.curves.bar, this.curves.note, this.curves.place),
      section("episodes", "Episodes", this.films.place),
      h("div", { class: "two" }, section("time", "Where the time goes", this.parts.times), section("machine", "Machine", this.parts.machine)),
      data.gated ? section("gate", "Gate", (this.gate = new GatePanel(this.id, this.params)).place) : null,
      section("timeline", "Timeline", this.parts.timeline),
      this.gamePlace,
      section("configuration", "Configuration", this.configuration()),
      section("checkpoints", "Checkpoints", this.parts.checkpoints),
      section("notes", "Tags and notes", this.notes()));
    this.loadGame();
  }

  fillAll() {
    this.fillTop();
    fill(this.parts.hints, this.hints());
    this.fillEvaluations();
    fill(this.parts.times, this.times());
    fill(this.parts.machine, this.machine());
    fill(this.parts.timeline, this.timeline());
    fill(this.parts.checkpoints, this.checkpoints());
    this.films.set(this.data);
  }

  fillTop() {
    const { row, origin, damage } = this.data;
    const fact = (name, value) => value === "" || value === null || value === "–" ? null : h("span", {}, `${name} `, h("b", {}, value));
    fill(this.top,
      h("div", { class: "head" }, h("h1", {}, row.id), badge(row), h("span", { class: "soft" }, row.why), row.tags.map((tag) => h("span", { class: "tag" }, tag)),
        h("span", { class: "room" }), h("a", { href: `/compare?${new URLSearchParams({ run: row.id })}`, "data-nav": true }, "compare")),
      h("div", { class: "facts" }, progress(row), fact("iteration", `${whole(row.iteration)} of ${whole(row.iterations)}`), fact("left", left(row)),
        row.score === null ? null : h("span", {}, "score ", score(row)), fact("agent-steps", short(row.agent_steps, 3)),
        fact("steps/s", short(row.speed, 3)), fact("phase", row.phase), fact("preset", row.preset), fact("world", row.world), fact("seed", row.seed === null ? "" : String(row.seed)),
        h("span", { title: when(row.created) }, "begun ", h("b", {}, `${age(row.created)} ago`)), this.data.begun ? fact("resumed", `${this.data.begun} times`) : null),
      damage.length ? h("p", { class: "problem" }, damage.join("; ")) : null,
      origin.format !== null && origin.format !== 1 ? h("p", { class: "problem" }, `This run is of format ${origin.format}; this dashboard knows format 1, so some of it may be missing.`) : null,
      this.data.row.notes ? h("p", { class: "note" }, this.data.row.notes.slice(0, 400)) : null);
  }

  // --- sections -----------------------------------------------------------------------------------------------------

  hints() {
    if (!this.data.hints.length) return null;
    return h("ul", { class: "hints", "aria-label": "Hints" }, this.data.hints.map((hint) => h("li", {}, hint.words, h("span", { class: "soft" }, ` (iteration ${whole(hint.iteration)})`))));
  }

  fillEvaluations() {
    const { rows, yardsticks, final } = this.data.evaluations;
    const judged = final || yardsticks;
    if (!rows.length && !judged) {
      fill(this.parts.evaluations, h("p", { class: "none" }, "No evaluation is complete yet."));
      return;
    }
    if (!this.scorePlot && rows.length) {
      const policies = Object.entries(yardsticks?.policies || {});
      const shown = policies.sort((a, b) => b[1].mean - a[1].mean).slice(0, 6);
      const goal = this.data.settings.find((one) => one.name === "run.stop_score");
      const levels = shown.map(([name, one], number) => ({ name, y: one.mean, colour: colour(number + 1) }));
      if (goal && Number.isFinite(Number(goal.value))) levels.push({ name: "goal", y: Number(goal.value), colour: colour(5) });
      this.scorePlot = h("div", { class: "card" }, h("p", { class: "meaning note" }, `mean ${judged?.score || "score"} with its 95 % interval, beside the yardsticks`),
        this.curves.scoreChart(levels, "evaluation score"),
        h("div", { class: "legend" }, [{ name: "learned", colour: colour(0) }, ...levels].map((one) => h("span", {}, h("span", { class: "swatch", style: { background: one.colour } }), one.name, one.y === undefined ? "" : ` ${short(one.y, 3)}`))));
    }
    fill(this.parts.evaluations, h("div", { class: "two" }, this.scorePlot || null, judged ? this.policies(judged, Boolean(final)) : null), rows.length ? this.evaluationRows(rows) : null);
  }

  policies(judged, isFinal) {
    const all = Object.entries(judged.policies).sort((a, b) => b[1].mean - a[1].mean);
    const low = Math.min(...all.map(([, one]) => one.low ?? one.mean)), high = Math.max(...all.map(([, one]) => one.high ?? one.mean));
    const place = (value) => `${(100 * (value - low)) / (high - low || 1)}%`;
    const whisker = (one, mine) => h("div", { class: `whisker ${mine ? "mine" : ""}` },
      h("i", { style: { left: place(one.low ?? one.mean), width: `calc(${place(one.high ?? one.mean)} - ${place(one.low ?? one.mean)})` } }), h("b", { style: { left: place(one.mean) } }));
    return h("div", {}, table([{ title: "policy" }, { title: "" }, { title: `mean ${judged.score}`, number: true }, { title: "95 %", number: true }, { title: "worst", number: true }],
      all.map(([name, one]) => [name === "learned" ? h("strong", {}, name) : name, whisker(one, name === "learned"), short(one.mean), interval(one.low, one.high), short(one.worst)]), { label: "Policies on the same episodes" }),
    h("p", { class: "note" }, isFinal ? `On ${whole(all[0]?.[1].episodes)} held-out episodes, at iteration ${whole(judged.iteration)}.` : "Yardsticks on the episodes that are used during the run."));
  }

  evaluationRows(rows) {
    const own = ["score", "score_low", "score_high", "score_worst"];
    const names = [...own, ...Object.keys(rows[0]).filter((name) => name !== "iteration" && !own.includes(name))].filter((name) => rows.some((row) => row[name] !== null && row[name] !== undefined)).slice(0, 16);
    const best = rows.reduce((a, b) => (b.score > a.score ? b : a), rows[0]);
    return h("details", { class: "more" }, h("summary", {}, `All ${rows.length} evaluations`), table([{ title: "iteration" }, ...names.map((name) => ({ title: name.replaceAll("_", " "), number: true }))],
      rows.map((row) => [[whole(row.iteration), row === best ? h("span", { class: "tag" }, "best") : ""], ...names.map((name) => short(row[name]))]), { class: "scroll tall", label: "Evaluations" }));
  }

  times() {
    const { times } = this.data;
    if (!times.length) return h("p", { class: "none" }, "No clock times yet.");
    return [h("div", { class: "shares", role: "img", "aria-label": times.map((one) => `${one.phase} ${percent(one.share)}`).join(", ") },
      times.map((one, number) => h("i", { style: { width: `${100 * one.share}%`, background: `var(--line-${number % 10})` } }))),
    h("div", { class: "legend" }, times.map((one, number) => h("span", {}, h("span", { class: "swatch", style: { background: `var(--line-${number % 10})` } }), `${one.phase} ${percent(one.share)}, ${span(one.seconds)}`)))];
  }

  machine() {
    const shown = Object.entries(this.data.machine).filter(([name]) => name !== "time");
    if (!shown.length) return h("p", { class: "none" }, "Nothing was measured.");
    const words = (name, value) => name.endsWith("_pct") ? `${short(value, 3)} %` : name.endsWith("_mb") ? `${short(value * 1e6, 3)}B` : short(value);
    return h("div", { class: "facts" }, shown.map(([name, value]) => h("span", {}, `${name.replace(/_(pct|mb)$/, "").replaceAll("_", " ")} `, h("b", {}, words(name, value)))));
  }

  timeline() {
    const { events } = this.data;
    if (!events.length) return h("p", { class: "none" }, "Nothing happened yet.");
    return table([{ title: "time", class: "nowrap" }, { title: "iteration", number: true }, { title: "event", class: "nowrap" }, { title: "", class: "words" }],
      events.map((event) => [clock(event.time), event.iteration === null ? "" : whole(event.iteration), h("strong", {}, event.count > 1 ? `${event.count} ${event.kind}s` : event.kind.replaceAll("_", " ")), event.words]), { class: "scroll tall", label: "Timeline" });
  }

  configuration() {
    const { settings, compared, origin } = this.data;
    const changed = settings.filter((one) => one.differs);
    const columns = [{ title: "option" }, { title: "value" }, { title: compared.startsWith("the") ? compared.replace(/^the /, "") : "otherwise" }, { title: "meaning", class: "words" }];
    const line = (one) => [h("code", {}, one.name), h("span", { class: one.differs ? "differs" : "" }, one.value), one.other ?? "", one.meaning];
    const facts = [["command", origin.command && h("code", {}, origin.command)], ["folder", h("code", {}, this.data.place)], ["begun", clock(origin.created)], ["commit", origin.git && h("code", {}, origin.git)],
      ["holdfast", origin.holdfast], ["versions", Object.entries(origin.versions).map(([name, number]) => `${name} ${number}`).join(", ")], ["changed at resume", origin.changes.join("; ")]].filter(([, value]) => value);
    return [changed.length ? table(columns, changed.map(line), { label: "Options that differ" }) : h("p", { class: "none" }, `All options are those of ${compared}.`),
      h("details", { class: "more" }, h("summary", {}, `All ${settings.length} options`), table(columns, settings.map(line), { class: "scroll tall", label: "All options" })),
      h("h3", {}, "Origin"), table([{ title: "", class: "nowrap" }, { title: "" }], facts, { label: "Origin" })];
  }

  checkpoints() {
    const { checkpoints } = this.data;
    if (!checkpoints.length) return h("p", { class: "none" }, "No checkpoint yet.");
    return table([{ title: "iteration" }, { title: "" }, { title: "saved", class: "nowrap" }, { title: "because" }, { title: "went on from" }, { title: "size", number: true }],
      checkpoints.map((one) => [one.name, one.marks.map((mark) => h("span", { class: "tag" }, mark)), clock(one.created), one.reason, one.parent, `${(one.bytes / 1e6).toFixed(1)} MB`]), { class: "scroll tall", label: "Checkpoints" });
  }

  notes() {
    const { row } = this.data;
    const tags = h("input", { type: "text", id: "tags", value: row.tags.join(", "), "aria-label": "Tags, between commas", placeholder: "tags, between commas" });
    const text = h("textarea", { id: "note-text", "aria-label": "Notes", placeholder: "what was this run for, what came of it?" }, row.notes);
    const told = h("span", { class: "soft", role: "status" });
    const save = h("button", { type: "button", onclick: async () => {
      try {
        await post("/api/notes", { run: this.id, tags: tags.value.split(","), notes: text.value });
        told.textContent = "kept in notes.json of the run";
      } catch (error) { told.textContent = error.message; }
    } }, "Keep");
    return [h("div", { class: "tools" }, h("span", { class: "field" }, tags), save, told), text];
  }

  async loadGame() {
    const frame = h("iframe", { class: "frame", sandbox: "allow-same-origin", title: "What only this game tells", src: `/api/run/sections?${new URLSearchParams({ id: this.id })}` });
    frame.onload = () => {
      const inside = frame.contentDocument;
      this.gameWords.remove();
      if (!inside || inside.title === "no sections") { this.gamePlace.hidden = true; document.querySelector('.subnav a[href="#game"]')?.remove(); return; }
      frame.style.height = `${inside.documentElement.scrollHeight + 20}px`;
    };
    new IntersectionObserver((seen, watcher) => {
      if (!seen.some((one) => one.isIntersecting)) return;
      watcher.disconnect();
      this.gamePlace.append(frame);
    }, { rootMargin: "300px" }).observe(this.gamePlace);
    this.gamePlace.hidden = false;
  }

  // --- news ---------------------------------------------------------------------------------------------------------

  follow() {
    this.stop = follow({ run: this.id, since: this.data.since, on: {
      run: () => this.soon(),
      film: (job) => this.films.news(job),
      runs: (news) => {
        const row = news.runs.find((one) => one.id === this.id);
        if (row) { this.data.row = { ...row, notes: this.data.row.notes }; this.fillTop(); }
        if (news.removed.includes(this.id)) sayRoot(false, `has lost this run; ${this.id}`);
      },
    } });
  }

  // As often as there is news, but never so often that drawing takes more than a tenth of the time.
  soon() {
    if (this.timer) return;
    this.timer = setTimeout(async () => {
      this.timer = 0;
      try { await this.refresh(); } catch (error) { console.warn(error.message); }
    }, Math.max(150, Math.min(10000, 10 * this.curves.cost_ms - (performance.now() - (this.fresh_ms || 0)))));
  }

  async refresh() {
    this.fresh_ms = performance.now();
    const [data] = await Promise.all([get("/api/run", { id: this.id }), this.curves.load()]);
    this.data = data;
    this.fillAll();
    this.gate?.refresh();
    this.main.dataset.refreshed = String(Number(this.main.dataset.refreshed || 0) + 1);
  }

  keys() {
    setKeys({
      "/": ["search curves", () => { this.curves.field.scrollIntoView({ block: "center" }); this.curves.field.focus(); }],
      l: ["log axis", () => this.curves.setLog(!this.curves.log)],
      0: ["reset zoom", () => this.curves.zoom(null)],
      j: ["next section", () => step(1)],
      k: ["section before", () => step(-1)],
      c: ["compare", () => this.top.querySelector("a").click()],
    });
  }
}

function step(by) {
  const all = [...document.querySelectorAll("main section:not([hidden])")];
  const at = all.findLastIndex((one) => one.getBoundingClientRect().top < 110);
  all[Math.max(0, Math.min(all.length - 1, at + by))]?.scrollIntoView();
}

// `learner.{role}.entropy` as a shape that names of a run fit.
function shapeOf(name) {
  const escaped = name.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{(\w+)\}/g, "[^.]+");
  return new RegExp(`^${escaped}$`);
}

