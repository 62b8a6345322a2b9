// Which page an address means; links between pages do not load everything anew.

import { byId, fill, h } from "./dom.js";
import { listenForKeys, setKeys } from "./keys.js";

const PAGES = { "/": "./table.js", "/run": "./run.js", "/compare": "./compare.js", "/study": "./study.js" };
let leave = () => {};
let shown = 0;

async function show() {
  const mine = ++shown;
  leave();
  leave = () => {};
  const main = fill(byId("main"));
  setKeys({});
  markPage();
  try {
    const page = await import(PAGES[location.pathname] || PAGES["/"]);
    if (mine !== shown) return;
    const left = await page.show(main, new URLSearchParams(location.search));
    if (mine === shown) leave = left || leave;
    else left?.();
  } catch (error) {
    if (mine === shown) fill(main, h("p", { class: "problem", role: "alert" }, error.message));
  }
}

export function go(address) {
  history.pushState(null, "", address);
  scrollTo(0, 0);
  show();
}

// The address says what is shown, so that it can be sent to someone.
export function setParams(changes) {
  const params = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    params.delete(name);
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "" && one !== false) params.append(name, one);
    }
  }
  const text = params.toString();
  history.replaceState(null, "", text ? `${location.pathname}?${text}` : location.pathname);
}

function markPage() {
  const here = location.pathname;
  const link = (href, text) => h("a", { href, "data-nav": true, "aria-current": here === href.split("?")[0] ? "page" : null }, text);
  fill(byId("nav"), link("/", "Runs"), link("/study", "Studies"));
}

addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-nav]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});
addEventListener("popstate", show);
byId("theme").addEventListener("click", () => globalThis.toggleTheme());
byId("help").addEventListener("click", () => byId("keys").showModal());
listenForKeys();
show();

