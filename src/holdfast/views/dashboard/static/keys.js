// The keyboard: one table of keys for every page, shown by "?".

import { byId, fill, h, isTyping } from "./dom.js";

const ALWAYS = {
  "?": ["these keys", () => byId("keys").showModal()],
  t: ["dark or light", () => globalThis.toggleTheme()],
  u: ["up: all runs", () => document.querySelector(".brand").click()],
};
let current = {};

export function setKeys(keys) {
  current = { ...ALWAYS, ...keys };
  const rows = Object.entries(current).map(([key, [meaning]]) => h("tr", {}, h("td", {}, h("kbd", {}, key)), h("td", {}, meaning)));
  fill(byId("keys"), h("h2", { id: "keys-title" }, "Keyboard"), h("table", {}, h("tbody", {}, rows)),
    h("form", { method: "dialog" }, h("button", { autofocus: true }, "Close")));
}

export function listenForKeys() {
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isTyping(event.target)) event.target.blur();
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || byId("keys").open) return;
    const native = event.key === "Enter" || event.key === " ";
    if (native && event.target.closest?.("a, button, summary, [role=button]")) return;
    const found = current[event.key === " " ? "space" : event.key];
    if (!found) return;
    event.preventDefault();
    found[1](event);
  });
}
