// Building blocks shared by the widgets. DOM nodes only: no text of a run is ever parsed as HTML.

/** Make an element: `attrs.class` and `attrs.text` are set directly, `on…` are listeners, the rest attributes. */
function h(tag, attrs = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Seconds for people: `0.3 s`, `12.4 s`, `2 min 05 s`. */
function secondsText(seconds) {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}

/** Bytes for people: `212 B`, `76 kB`, `1.4 MB`. */
function bytesText(size) {
  if (size < 1000) return `${size} B`;
  const [scale, unit] = size < 1e6 ? [1e3, "kB"] : size < 1e9 ? [1e6, "MB"] : [1e9, "GB"];
  const amount = size / scale;
  return `${amount < 10 ? amount.toFixed(1) : Math.round(amount).toLocaleString("en-US")} ${unit}`;
}

/** `1 file`, `1,204 files`. */
function countText(count, noun) {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}

/** Set the text of a node only when it differs, so that nothing is laid out or announced for nothing. */
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
