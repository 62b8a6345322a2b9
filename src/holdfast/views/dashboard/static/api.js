// Asking the server. A refusal comes back as an Error whose message is a sentence for the reader.

async function told(response) {
  if (response.ok) return response;
  let text = await response.text();
  try { text = JSON.parse(text).error || text; } catch { /* plain words */ }
  throw new Error(text.trim() || `the server answered ${response.status}`);
}

async function asked(address, options = {}) {
  try {
    return await told(await fetch(address, { cache: "no-store", ...options }));
  } catch (error) {
    if (error instanceof TypeError) throw new Error("the dashboard does not answer; is it still running?");
    throw error;
  }
}

export async function get(path, params = {}) {
  return (await asked(address(path, params))).json();
}

export async function post(path, content) {
  const headers = { "content-type": "application/json", "x-holdfast": "1" };
  return (await asked(path, { method: "POST", headers, body: JSON.stringify(content) })).json();
}

// Length of the head, the head as JSON, then x and y of each curve as 64-bit floats.
export async function getCurves(path, params, signal) {
  const buffer = await (await asked(address(path, params), { signal })).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  let at = 4 + length;
  for (const curve of head.curves) {
    curve.x = new Float64Array(buffer, at, curve.n);
    curve.y = new Float64Array(buffer, at + 8 * curve.n, curve.n);
    at += 16 * curve.n;
  }
  return head;
}

function address(path, params) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") search.append(name, one);
    }
  }
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}
