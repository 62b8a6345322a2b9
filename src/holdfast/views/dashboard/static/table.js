// All runs: filter, sort, group, select, compare. Rows are patched in place as news comes in.

import { get } from "./api.js";
import { go, setParams } from "./app.js";
import { byId, debounced, fill, h, runLink } from "./dom.js";
import { age, short, when, whole } from "./format.js";
import { setKeys } from "./keys.js";
import { follow, sayRoot } from "./live.js";
import { badge, isLive, left, progress, score, statusOrder } from "./status.js";

const PIECE = 150; // rows that are drawn at once; more as one scrolls
const COLUMNS = [
  { key: "status", title: "status", cell: badge, sort: statusOrder },
  { key: "id", title: "run", class: "name", cell: (row) => [runLink(row.id), row.tags.map((tag) => h("span", { class: "tag" }, tag))] },
  { key: "progress", title: "progress", class: "w2", cell: progress, sort: (row) => (row.iterations ? row.iteration / row.iterations : 0) },
  { key: "left", title: "left", class: "number w4", cell: left, sort: (row) => row.left_s },
  { key: "score", title: "score, 95 %", class: "scorecell", cell: score, sort: (row) => row.score },
  { key: "agent_steps", title: "agent-steps", class: "number w4", cell: (row) => short(row.agent_steps, 3), sort: (row) => row.agent_steps },
  { key: "speed", title: "steps/s", class: "number w4", cell: (row) => short(row.speed, 3), sort: (row) => row.speed },
  { key: "preset", title: "preset", class: "w3", cell: (row) => row.preset || row.world },
  { key: "seed", title: "seed", class: "number w4", cell: (row) => (row.seed === null ? "" : String(row.seed)), sort: (row) => row.seed },
  { key: "age", title: "age", class: "number w3", cell: (row) => h("span", { title: when(row.created) }, age(row.created)), sort: (row) => -(row.created ?? 0) },
];

export async function show(main, params) {
  const page = new RunsPage(main, params);
  await page.begin();
  return () => page.leave();
}

class RunsPage {
  constructor(main, params) {
    this.main = main;
    this.rows = new Map();
    this.lines = new Map(); // id -> tr that is drawn
    this.query = params.get("q") || "";
    this.by = params.get("by"); // null: no groups; "": by configuration
    this.sort = params.get("sort") || "status";
    this.extra = params.getAll("column");
    this.values = {}; // of further columns, by name and run
    this.fits = null; // null: all
    this.groups = null;
    this.selected = new Set(params.getAll("run"));
    this.order = [];
    this.drawn = 0;
    this.at = -1;
    this.stop = () => {};
  }

  async begin() {
    document.title = "Runs · Holdfast";
    this.frame();
    const found = await get("/api/runs");
    for (const row of found.runs) this.rows.set(row.id, row);
    sayRoot(found.there, found.root);
    this.root = found.root;
    if (this.query || this.by !== null || this.extra.length) await this.match(false);
    this.arrange();
    performance.mark("first-table");
    this.stop = follow({ since: found.since, on: { runs: (news) => this.take(news) } });
    this.clock = setInterval(() => this.tick(), 10000);
    this.keys();
  }

  leave() {
    this.stop();
    clearInterval(this.clock);
    this.watcher?.disconnect();
  }

  // --- the frame around the table -----------------------------------------------------------------------------------

  frame() {
    this.filter = h("input", { id: "filter", type: "search", value: this.query, placeholder: "words, status=running, learner.lr>5e-4 …",
      "aria-label": "Filter the runs", autocomplete: "off", spellcheck: "false", list: "options",
      oninput: debounced(() => this.setQuery(this.filter.value), 150) });
    this.grouping = h("select", { "aria-label": "Group by", onchange: () => this.setGroups(this.grouping.value) },
      h("option", { value: "none" }, "no groups"), h("option", { value: "" }, "by configuration"));
    this.adder = h("select", { "aria-label": "Add a column", onchange: () => this.addColumn(this.adder.value) }, h("option", { value: "" }, "+ column"));
    this.counts = h("span", { class: "counts", role: "status" });
    this.compare = h("button", { type: "button", class: "main", id: "compare", hidden: true, onclick: () => this.openCompare() });
    this.clear = h("button", { type: "button", hidden: true, onclick: () => this.select(null) }, "Clear");
    this.problem = h("p", { class: "problem", role: "alert", hidden: true });
    this.head = h("tr");
    this.body = h("tbody");
    this.end = h("div", { class: "end" });
    fill(this.main,
      h("h1", { class: "unseen" }, "Runs"),
      h("div", { class: "tools" },
        h("span", { class: "field" }, this.filter, h("kbd", { "aria-hidden": "true" }, "/")),
        this.grouping, this.adder, this.counts, h("span", { class: "room" }), this.clear, this.compare),
      this.problem,
      h("div", { class: "scroll tablebox", role: "region", "aria-label": "Runs", tabindex: 0 },
        h("table", { class: "runs" }, h("thead", {}, this.head), this.body), this.end),
      h("datalist", { id: "options" }));
    this.watcher = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && this.drawMore());
    this.watcher.observe(this.end);
    this.fillOptions();
  }

  async fillOptions() {
    const { options } = await get("/api/options");
    const differing = options.filter((one) => one.values > 1).slice(0, 60);
    for (const one of differing) {
      this.grouping.append(h("option", { value: one.name }, `by ${one.name}`));
      this.adder.append(h("option", { value: one.name }, one.name));
      byId("options")?.append(h("option", { value: `${one.name}=` }));
    }
    this.grouping.value = this.by ?? "none";
  }

  drawHead() {
    const all = this.allColumns();
    const [key, down] = [this.sort.replace(/^-/, ""), this.sort.startsWith("-")];
    const boxes = h("th", { scope: "col", class: "check" }, h("input", { type: "checkbox", "aria-label": "Select all that are shown",
      onchange: (event) => this.select(event.target.checked ? this.order.map((row) => row.id) : null) }));
    if (this.groups) {
      fill(this.head, boxes, h("th", { scope: "col", colspan: all.length }, this.by ? `runs by ${this.by}` : "runs of one configuration, with their seeds folded: interquartile mean (IQM) and 95 % interval"));
      return;
    }
    fill(this.head, boxes, all.map((column) => h("th", { scope: "col", class: column.class,
      "aria-sort": column.key === key ? (down ? "descending" : "ascending") : null },
      h("button", { type: "button", class: "sorter", onclick: () => this.setSort(column.key) }, column.title,
        h("span", { "aria-hidden": "true" }, column.key === key ? (down ? " ↓" : " ↑") : "")))));
  }

  allColumns() {
    const further = this.extra.map((name) => ({ key: name, title: name.split(".").pop(), class: "number", cell: (row) => text(this.values[name]?.get(row.id)),
      sort: (row) => this.values[name]?.get(row.id) }));
    return [...COLUMNS, ...further];
  }

  // --- news ---------------------------------------------------------------------------------------------------------

  take(news) {
    let anew = false;
    for (const row of news.runs) {
      const before = this.rows.get(row.id);
      anew ||= !before || before.status !== row.status;
      this.rows.set(row.id, row);
      const line = this.lines.get(row.id);
      if (line && before) this.patch(line, row);
    }
    for (const id of news.removed) anew = this.rows.delete(id) || anew;
    if (anew) this.later();
    else this.count();
  }

  later = debounced(async () => {
    if (this.query || this.by !== null || this.extra.length) await this.match(false);
    this.arrange(true);
  }, 50);

  tick() {
    for (const [id, line] of this.lines) {
      const row = this.rows.get(id);
      const cell = line.querySelector("[data-key=age]");
      if (row && cell) fill(cell, COLUMNS.find((column) => column.key === "age").cell(row));
    }
  }

  // --- filter, groups, order ----------------------------------------------------------------------------------------

  async setQuery(query) {
    this.query = query.trim();
    setParams({ q: this.query });
    await this.match(true);
  }

  async setGroups(by) {
    this.by = by === "none" ? null : by;
    const params = new URLSearchParams(location.search);
    params.delete("by");
    if (this.by !== null) params.set("by", this.by);
    history.replaceState(null, "", `${location.pathname}?${params}`);
    await this.match(true);
  }

  async addColumn(name) {
    this.adder.value = "";
    this.extra = this.extra.includes(name) ? this.extra.filter((one) => one !== name) : [...this.extra, name];
    setParams({ column: this.extra });
    await this.match(true);
  }

  async match(draw) {
    const params = { q: this.query, column: this.extra };
    if (this.by !== null) params.by = this.by || " ";
    const mine = (this.asked = (this.asked || 0) + 1);
    try {
      const found = await get("/api/match", params);
      if (mine !== this.asked) return;
      this.fits = new Set(found.ids);
      this.groups = found.groups || null;
      this.values = Object.fromEntries(Object.entries(found.columns).map(([name, values]) => [name, new Map(found.ids.map((id, at) => [id, values[at]]))]));
      this.problem.hidden = true;
    } catch (error) {
      if (mine !== this.asked) return;
      this.problem.hidden = false;
      this.problem.textContent = error.message;
    }
    if (draw) this.arrange();
  }

  setSort(key) {
    const first = ["score", "speed", "agent_steps", "progress"].includes(key) ? `-${key}` : key;
    this.sort = this.sort === first ? (first.startsWith("-") ? key : `-${key}`) : first;
    setParams({ sort: this.sort === "status" ? "" : this.sort });
    this.arrange();
  }

  arrange(keep = false) {
    const key = this.sort.replace(/^-/, "");
    const column = this.allColumns().find((one) => one.key === key) || COLUMNS[0];
    const value = column.sort || ((row) => row[column.key]);
    const sign = this.sort.startsWith("-") ? -1 : 1;
    this.order = [...this.rows.values()].filter((row) => !this.fits || this.fits.has(row.id));
    this.order.sort((a, b) => sign * ordered(value(a), value(b)) || (b.created ?? 0) - (a.created ?? 0) || ordered(a.id, b.id));
    this.drawHead();
    const drawn = keep ? Math.max(PIECE, this.drawn) : PIECE;
    const current = keep && this.at >= 0 ? this.lineAt(this.at)?.dataset.id : null;
    this.lines.clear();
    this.body.replaceChildren();
    this.drawn = 0;
    if (this.groups) this.drawGroups();
    else this.drawMore(drawn);
    this.count();
    this.at = current ? [...this.body.children].findIndex((line) => line.dataset.id === current) : -1;
    if (this.at >= 0) this.lineAt(this.at).classList.add("at");
  }

  drawMore(count = PIECE) {
    if (this.groups || this.drawn >= this.order.length) return;
    const next = this.order.slice(this.drawn, this.drawn + count);
    this.drawn += next.length;
    this.body.append(...next.map((row) => this.line(row)));
  }

  drawGroups() {
    const wide = this.allColumns().length;
    const sorted = [...this.groups].sort((a, b) => (b.fold?.iqm ?? -Infinity) - (a.fold?.iqm ?? -Infinity));
    for (const group of sorted) {
      const rows = group.runs.map((id) => this.rows.get(id)).filter(Boolean);
      const members = rows.map((row) => this.line(row));
      members.forEach((line) => { line.hidden = true; line.classList.add("member"); });
      const toggle = h("button", { type: "button", class: "plain twist", "aria-expanded": "false", "aria-label": `Show the runs of ${group.label}`,
        onclick: () => {
          const open = toggle.getAttribute("aria-expanded") !== "true";
          toggle.setAttribute("aria-expanded", open);
          members.forEach((line) => { line.hidden = !open; });
        } }, "▸");
      const box = h("input", { type: "checkbox", "aria-label": `Select the runs of ${group.label}`, checked: group.runs.every((id) => this.selected.has(id)),
        onchange: () => { group.runs.forEach((id) => (box.checked ? this.selected.add(id) : this.selected.delete(id))); this.showSelected(); } });
      const fold = group.fold;
      const iqm = fold ? [h("b", {}, short(fold.iqm)), ` IQM, ${short(fold.low, 3)} to ${short(fold.high, 3)}`, fold.few ? h("span", { class: "soft", title: "fewer than 5 seeds: the interval says little" }, " (few seeds)") : ""] : "not judged yet";
      const states = Object.entries(group.statuses).map(([name, count]) => `${count} ${name}`).join(", ");
      this.body.append(h("tr", { class: "group", "data-group": group.key }, h("td", { class: "check" }, box),
        h("td", { colspan: wide, class: "groupcell" }, h("div", { class: "grouphead" }, toggle, h("b", { class: "name" }, group.label),
          h("span", { class: "soft" }, `${group.runs.length} ${group.runs.length === 1 ? "run" : "runs"}: ${states}`),
          h("span", { class: "room" }), h("span", {}, iqm)))), ...members);
    }
  }

  // --- rows ---------------------------------------------------------------------------------------------------------

  line(row) {
    const box = h("input", { type: "checkbox", "aria-label": `Select ${row.id}`, checked: this.selected.has(row.id),
      onchange: () => this.toggle(row.id, box.checked) });
    const line = h("tr", { "data-id": row.id, class: isLive(row) ? "isLive" : null }, h("td", { class: "check" }, box),
      this.allColumns().map((column) => h("td", { class: column.class, "data-key": column.key }, column.cell(row))));
    this.lines.set(row.id, line);
    return line;
  }

  patch(line, row) {
    for (const column of this.allColumns()) {
      const cell = line.querySelector(`[data-key="${CSS.escape(column.key)}"]`);
      const fresh = h("td", { class: column.class, "data-key": column.key }, column.cell(row));
      if (cell && !cell.isEqualNode(fresh)) cell.replaceWith(fresh);
    }
    line.classList.toggle("isLive", isLive(row));
  }

  count() {
    const shown = this.order.length;
    const live = this.order.filter((row) => isLive(this.rows.get(row.id) || row)).length;
    const of = this.fits && shown !== this.rows.size ? ` of ${whole(this.rows.size)}` : "";
    this.counts.textContent = `${whole(shown)}${of} ${shown === 1 && !of ? "run" : "runs"}${live ? `, ${live} going on` : ""}`;
    fill(this.end, shown ? "" : h("p", { class: "none" }, this.rows.size ? "No run fits the filter." : `No runs in ${this.root}; start one with: holdfast train template`));
    this.showSelected();
  }

  // --- selection and keyboard ---------------------------------------------------------------------------------------

  toggle(id, on = !this.selected.has(id)) {
    if (on) this.selected.add(id);
    else this.selected.delete(id);
    this.showSelected();
  }

  select(ids) {
    this.selected = new Set(ids || []);
    for (const [id, line] of this.lines) line.querySelector("input").checked = this.selected.has(id);
    this.showSelected();
  }

  showSelected() {
    const count = this.selected.size;
    this.compare.hidden = this.clear.hidden = count === 0;
    this.compare.textContent = `Compare ${count}`;
    for (const [id, line] of this.lines) line.classList.toggle("chosen", this.selected.has(id));
  }

  openCompare() {
    if (this.selected.size) go(`/compare?${new URLSearchParams([...this.selected].map((id) => ["run", id]))}`);
  }

  lineAt(place) {
    return this.body.children[place];
  }

  move(by) {
    const lines = [...this.body.children];
    let next = this.at + by;
    while (lines[next]?.hidden) next += by;
    if (!lines[next]) return;
    lines[this.at]?.classList.remove("at");
    this.at = next;
    lines[next].classList.add("at");
    lines[next].scrollIntoView({ block: "nearest" });
    if (next > this.drawn - 10) this.drawMore();
  }

  keys() {
    const here = (act) => () => this.lineAt(this.at) && act(this.lineAt(this.at));
    setKeys({
      "/": ["filter", () => this.filter.focus()],
      j: ["next run", () => this.move(1)],
      k: ["run before", () => this.move(-1)],
      Enter: ["open it", here((line) => line.querySelector(".twist, .name a")?.click())],
      x: ["select it", here((line) => line.querySelector("input").click())],
      c: ["compare what is selected", () => this.openCompare()],
      g: ["group by configuration, or not", () => { this.grouping.value = this.by === null ? "" : "none"; this.setGroups(this.grouping.value); }],
    });
  }
}

const text = (value) => (value === null || value === undefined ? "" : typeof value === "string" ? value : typeof value === "number" ? (Number.isInteger(value) ? String(value) : short(value)) : JSON.stringify(value));

function ordered(a, b) {
  const missing = (value) => value === null || value === undefined;
  if (missing(a) || missing(b)) return missing(a) - missing(b);
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}
