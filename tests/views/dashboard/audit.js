// What a reader with a screen reader, a keyboard or weak eyes would miss on this page; an empty list is what is wanted.
() => {
  const found = [];
  const named = (one) => one.getAttribute('aria-label') || one.getAttribute('aria-labelledby') || one.closest('label')?.textContent.trim()
    || one.textContent.trim() || one.title || one.alt;
  for (const one of document.querySelectorAll('button, a, input, select, textarea, video, img, iframe, [role=progressbar], [role=img]')) {
    if (!named(one)) found.push('no name: ' + one.outerHTML.slice(0, 120));
  }
  const ids = [...document.querySelectorAll('[id]')].filter((one) => !one.closest('.plot')).map((one) => one.id);
  for (const id of ids) if (ids.filter((other) => other === id).length > 1) found.push('twice: ' + id);
  if (document.querySelectorAll('main h1').length !== 1) found.push('h1: ' + document.querySelectorAll('main h1').length);
  if (!document.documentElement.lang) found.push('no lang');
  const parts = (text) => text.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((one) => one / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (one) => { for (let up = one; up; up = up.parentElement) { const c = parts(getComputedStyle(up).backgroundColor); if (c.length < 4 || c[3] === 1) return c; } return [255, 255, 255]; };
  for (const one of document.querySelectorAll('main *, header *')) {
    const text = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!text || one.closest('svg, .plot, [hidden], .unseen, :disabled, option') || !one.getClientRects().length) continue;
    const [a, b] = [light(parts(getComputedStyle(one).color)), light(behind(one))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) found.push(`contrast ${contrast.toFixed(2)}: ${one.outerHTML.slice(0, 120)}`);
  }
  return JSON.stringify([...new Set(found)].slice(0, 20));
}
