// Dark or light, before anything is drawn: as chosen here, else as the system says.
"use strict";
(() => {
  const KEY = "holdfast-theme";
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try { return localStorage.getItem(KEY); } catch { return null; }
  };
  const apply = () => {
    document.documentElement.dataset.theme = chosen() || (system.matches ? "dark" : "light");
    dispatchEvent(new Event("themechange"));
  };
  globalThis.toggleTheme = () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem(KEY, next); } catch { /* a browser that keeps nothing */ }
    document.documentElement.dataset.theme = next;
    dispatchEvent(new Event("themechange"));
  };
  system.addEventListener("change", apply);
  apply();
})();
