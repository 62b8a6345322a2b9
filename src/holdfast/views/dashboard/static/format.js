// Numbers, spans of time and sizes in few signs.

const MINUS = "\u2212";

export function short(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  let text;
  if (size && size < 1e-3) text = size.toExponential(2).replace(/\.?0+e/, "e");
  else if (size < 1e4) text = trimmed(size.toPrecision(digits));
  else if (size < 1e15) {
    const power = Math.min(4, Math.floor(Math.log10(size) / 3));
    text = `${trimmed((size / 1000 ** power).toPrecision(digits))} ${" kMGT"[power]}`;
  } else text = size.toExponential(3);
  return value < 0 ? MINUS + text : text;
}

function trimmed(text) {
  return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
}

export const whole = (value) => (value === null || value === undefined ? "–" : Math.round(value).toLocaleString("en"));

export function span(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${String(Math.floor((s % 3600) / 60)).padStart(2, "0")}`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

export const age = (moment) => (moment === null || moment === undefined ? "–" : span(Date.now() / 1000 - moment));

export function when(moment) {
  if (moment === null || moment === undefined) return "";
  return new Date(moment * 1000).toISOString().slice(0, 19).replace("T", " ") + " UTC";
}

export const clock = (text) => String(text || "").slice(0, 19).replace("T", " ");

export function bytes(count) {
  if (count < 1e3) return `${count} B`;
  if (count < 1e6) return `${(count / 1e3).toFixed(0)} kB`;
  return `${(count / 1e6).toFixed(1)} MB`;
}

export const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

export function interval(low, high) {
  return low === null || high === null || low === undefined || high === undefined ? "" : `${short(low, 3)} to ${short(high, 3)}`;
}
