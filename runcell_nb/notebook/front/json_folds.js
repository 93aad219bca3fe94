// JSON that was laid out, a value a line, as parts that fold. What is folded is made when it is opened.

const OPEN_LINES = 40;
const MAX_FOLDS = 1_000;

/** A view of laid out JSON; `text` is what Python made of the file. */
function jsonView(text) {
  const lines = text.split("\n");
  const el = h("div", { class: "rc-json" });
  el.append(...jsonNodes(lines, closings(lines), 0, lines.length, 0));
  return el;
}

/** For each line that opens an object or a list, the line that closes it. */
function closings(lines) {
  const ends = new Map();
  const open = [];
  lines.forEach((line, at) => {
    if (/^\s*[\]}],?$/.test(line)) ends.set(open.pop(), at);
    else if (/[[{]$/.test(line)) open.push(at);
  });
  return ends;
}

function jsonNodes(lines, ends, from, to, depth) {
  const nodes = [];
  let plain = from;
  let folds = 0;
  const flush = (at) => at > plain && nodes.push(jsonLines(lines.slice(plain, at).join("\n")));
  for (let at = from; at < to; at += 1) {
    const end = ends.get(at);
    if (end === undefined || end >= to || folds >= MAX_FOLDS) continue;
    flush(at);
    folds += 1;
    nodes.push(jsonFold(lines, ends, at, end, depth), jsonLines(lines[end]));
    at = end;
    plain = end + 1;
  }
  flush(to);
  return nodes;
}

function jsonFold(lines, ends, at, end, depth) {
  const hidden = h("span", { class: "rc-folded", text: ` … ${countText(end - at - 1, "line")}` });
  const fold = h("details", {}, h("summary", {}, ...coloured(lines[at], LANGUAGES.json), hidden));
  const fill = () => fold.childElementCount < 2 && fold.append(...jsonNodes(lines, ends, at + 1, end, depth + 1));
  fold.addEventListener("toggle", () => fold.open && fill());
  if (depth === 0 || (depth < 6 && end - at < OPEN_LINES)) {
    fill();
    fold.open = true;
  }
  return fold;
}

function jsonLines(text) {
  return h("div", {}, ...coloured(text, LANGUAGES.json));
}
