"use strict";
// Values under the pointer. Charts are whole without it: this reads the points from data-chart and writes text only.

function place(tag, name, parent) {
  const made = document.createElement(tag);
  made.className = name;
  parent.append(made);
  return made;
}

function nearest(values, wanted) {
  let low = 0, high = values.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] > wanted) high = middle; else low = middle;
  }
  return wanted - values[low] <= values[high] - wanted ? low : high;
}

const signs = (value) => String(Number(value.toPrecision(4))).replace("-", "\u2212");

function watch(figure) {
  const { across, upright, lines } = JSON.parse(figure.dataset.chart);
  const plot = figure.querySelector(".plot");
  const share = ([low, high], value) => (value - low) / (high - low);
  let marks = [];

  function clear() {
    for (const mark of marks) mark.remove();
    marks = [];
  }

  function show(event) {
    const box = plot.getBoundingClientRect();
    const at = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    const wanted = across[0] + at * (across[1] - across[0]);
    const longest = lines.reduce((one, other) => (other.x.length > one.x.length ? other : one));
    const iteration = longest.x[nearest(longest.x, wanted)];
    clear();
    const cursor = place("div", "cursor", plot), tip = place("div", "tip", plot);
    marks.push(cursor, tip);
    cursor.style.left = `${100 * share(across, iteration)}%`;
    place("b", "", tip).textContent = `iteration ${iteration}`;
    for (const line of lines) {
      const index = nearest(line.x, iteration), spot = place("div", `spot ${line.colour}`, plot);
      marks.push(spot);
      spot.style.left = `${100 * share(across, line.x[index])}%`;
      spot.style.top = `${100 * (1 - share(upright, line.y[index]))}%`;
      const row = place("div", "", tip);
      place("i", `key ${line.colour}`, row);
      const where = line.x[index] === iteration ? "" : ` (at ${line.x[index]})`;
      const spread = line.low ? `, ${signs(line.low[index])} to ${signs(line.high[index])}` : "";
      row.append(`${lines.length > 1 || line.low ? line.name + " " : ""}${signs(line.y[index])}${spread}${where}`);
    }
    const middle = share(across, iteration) * box.width, room = box.width - tip.offsetWidth;
    tip.style.left = `${Math.max(-30, Math.min(room, middle < box.width / 2 ? middle + 12 : middle - tip.offsetWidth - 12))}px`;
  }

  plot.addEventListener("pointermove", show);
  plot.addEventListener("pointerdown", show);
  plot.addEventListener("pointerleave", clear);
}

document.querySelectorAll("figure.chart").forEach(watch);
