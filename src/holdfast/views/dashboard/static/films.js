// Pictures and videos as they appear, and one more on demand.

import { post } from "./api.js";
import { fill, h } from "./dom.js";
import { bytes, span } from "./format.js";

export class Films {
  constructor(id, data, refresh) {
    this.id = id;
    this.refresh = refresh;
    this.shown = "";
    this.media = h("div", { class: "media" });
    this.told = h("p", { class: "note", role: "status", id: "film-told" });
    this.which = h("select", { "aria-label": "Checkpoint" });
    this.how = h("select", { "aria-label": "Actions" }, h("option", { value: "greedy" }, "greedy"), h("option", { value: "sampled" }, "sampled"));
    this.episode = h("input", { type: "number", min: 0, max: 999, value: 0, "aria-label": "Held-out episode", class: "short" });
    this.button = h("button", { type: "button", id: "film", onclick: () => this.begin() }, "Film it");
    this.place = h("div", {}, h("div", { class: "tools" }, h("label", {}, "checkpoint", this.which), h("label", {}, "actions", this.how), h("label", {}, "episode", this.episode), this.button), this.told, this.media);
    this.set(data);
  }

  set(data) {
    const names = data.checkpoints.map((one) => one.name).join();
    if (names !== this.names) {
      this.names = names;
      const newest = data.checkpoints[0];
      fill(this.which, newest ? h("option", { value: "latest" }, `newest (${newest.name})`) : null,
        data.checkpoints.some((one) => one.marks.includes("best")) ? h("option", { value: "best" }, "best") : null,
        data.checkpoints.slice(1).map((one) => h("option", { value: one.name }, one.name)));
      this.button.disabled = !newest;
      if (!newest) this.told.textContent = "There is no checkpoint to film yet.";
    }
    const shown = JSON.stringify(data.media);
    if (shown !== this.shown) {
      this.shown = shown;
      fill(this.media, data.media.slice(0, 24).map((one) => this.medium(one)));
    }
    if (data.film) this.news(data.film);
  }

  medium(one) {
    const src = `/media?${new URLSearchParams({ run: this.id, name: one.name, at: one.at })}`;
    const seen = one.kind.startsWith("video/")
      ? h("video", { src, controls: true, loop: true, muted: true, playsinline: true, preload: "metadata", "aria-label": one.name })
      : h("img", { src, alt: one.name, loading: "lazy" });
    return h("figure", { "data-medium": one.name }, seen, h("figcaption", {}, `${one.name}, ${bytes(one.bytes)}`));
  }

  async begin() {
    this.button.disabled = true;
    this.told.textContent = "Beginning …";
    try {
      this.news(await post("/api/film", { run: this.id, checkpoint: this.which.value, sampled: this.how.value === "sampled", episode: Number(this.episode.value) || 0 }));
    } catch (error) {
      this.told.textContent = error.message;
      this.button.disabled = false;
    }
  }

  news(job) {
    if (job.run !== this.id) return;
    this.button.disabled = job.state === "running";
    if (job.state === "running") this.told.textContent = `Filming ${job.name} …`;
    if (job.state === "failed") this.told.textContent = `The film failed after ${span(job.seconds)}: ${job.told}`;
    if (job.state === "done" && this.state === "running") {
      this.told.textContent = `${job.name} is there, after ${span(job.seconds)}.`;
      this.refresh();
    }
    this.state = job.state;
  }
}
