// Elements made from plain text only: whatever a run is called, it stays text.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name === "style") Object.entries(value).forEach(([key, one]) => element.style.setProperty(key, one));
    else if (name in PROPERTIES) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  add(element, children);
  return element;
}

const PROPERTIES = { value: 1, checked: 1, disabled: 1, indeterminate: 1, selected: 1, muted: 1, hidden: 1 };

export function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

export const byId = (id) => document.getElementById(id);

export function section(id, title, ...children) {
  return h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...children);
}

// A table that scrolls by itself where it is too wide. Columns: {title, number, class}.
export function table(columns, rows, attributes = {}) {
  const head = columns.map((column) => h("th", { scope: "col", class: column.number ? "number" : null }, column.title));
  const body = rows.map((row) => {
    const cells = Array.isArray(row) ? row : row.cells;
    return h("tr", Array.isArray(row) ? {} : row.attributes,
      cells.map((cell, at) => h("td", { class: [columns[at].number ? "number" : "", columns[at].class || ""].join(" ").trim() || null }, cell)));
  });
  const { label, ...rest } = attributes;
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label || "table", ...rest },
    h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
}

export function debounced(call, wait_ms) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...given), wait_ms);
  };
}

export function runLink(id, text) {
  return h("a", { href: `/run?${new URLSearchParams({ id })}`, "data-nav": true }, text ?? id);
}

export function isTyping(target) {
  return target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && target.type !== "checkbox");
}
