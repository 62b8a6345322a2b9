// What changed, as the server tells it. One connection per page; the browser reconnects by itself.

import { byId } from "./dom.js";

export function follow({ since = "", run = "", on }) {
  const source = new EventSource(`/api/live?${new URLSearchParams({ since, run })}`);
  const mark = byId("live");
  const set = (state, words) => {
    mark.className = `live ${state}`;
    mark.textContent = words;
  };
  source.onopen = () => set("on", "live");
  source.onerror = () => set("off", source.readyState === EventSource.CLOSED ? "not live" : "reconnecting");
  source.addEventListener("root", (event) => sayRoot(JSON.parse(event.data)));
  for (const kind of ["runs", "run", "film"]) {
    source.addEventListener(kind, (event) => on[kind]?.(JSON.parse(event.data)));
  }
  return () => {
    source.close();
    set("", "");
  };
}

export function sayRoot(isThere, place = "") {
  const words = byId("gone");
  words.hidden = isThere;
  words.textContent = isThere ? "" : `The folder of runs ${place} is not there any more. What is shown is how it last was.`;
}
