// Markdown to DOM nodes, for text that is still growing. Raw HTML stays text, an image becomes its
// description, a link is only made for http, https and mailto. Every scan is linear or bounded, because the
// text comes from a stranger.

const MD_DEPTH = 8;
const MD_LIST = /^( {0,3})([-*+]|\d{1,9}[.)])( {1,4}|$)/;
const MD_HEADING = /^ {0,3}(#{1,6})(?=[ \t]|$)/;

/** A text that grows at its end: what is finished is rendered once, only the last part again. */
class MarkdownView {
  constructor(el) {
    this.el = el;
    this.tail = "";
    this.live = [];
    this.timer = null;
    this.pause = 60;
  }

  append(text) {
    this.tail += text;
    this.timer ??= setTimeout(() => this.render(), this.pause);
  }

  /** Show at once what still waits to be shown. */
  settle() {
    if (this.timer !== null) this.render();
  }

  render() {
    clearTimeout(this.timer);
    this.timer = null;
    const start = performance.now();
    const end = mdFinishedEnd(this.tail);
    for (const node of this.live) node.remove();
    if (end > 0) this.el.append(...mdBlocks(this.tail.slice(0, end).split("\n"), 0));
    this.tail = this.tail.slice(end);
    this.live = mdBlocks(this.tail.split("\n"), 0);
    this.el.append(...this.live);
    this.pause = Math.max(60, 8 * (performance.now() - start));
  }
}

/** Where the part of a growing text ends that later text cannot change any more. */
function mdFinishedEnd(text) {
  let end = 0;
  let fence = null;
  let blank = false;
  for (let at = 0; at < text.length; ) {
    const stop = text.indexOf("\n", at);
    if (stop < 0) break;
    const line = text.slice(at, stop);
    if (!fence && blank && line.trim() && !/^[ \t]/.test(line) && !MD_LIST.test(line)) end = at;
    const mark = mdFence(line);
    if (mark && !fence) fence = mark;
    else if (fence && mdCloses(line, fence)) fence = null;
    blank = !line.trim();
    at = stop + 1;
  }
  return end;
}

function mdFence(line) {
  const text = line.trimStart();
  if (line.length - text.length > 3 || (text[0] !== "`" && text[0] !== "~")) return null;
  let length = 1;
  while (text[length] === text[0]) length += 1;
  const info = text.slice(length);
  return length >= 3 && !(text[0] === "`" && info.includes("`")) ? { sign: text[0], length } : null;
}

function mdCloses(line, fence) {
  const text = line.trim();
  return text.length >= fence.length && text === fence.sign.repeat(text.length);
}

function mdIsRule(line) {
  const text = line.replaceAll(" ", "").replaceAll("\t", "");
  return text.length >= 3 && "-*_".includes(text[0]) && text === text[0].repeat(text.length);
}

function mdBlocks(lines, depth) {
  const nodes = [];
  for (let i = 0; i < lines.length; ) {
    if (!lines[i].trim()) {
      i += 1;
      continue;
    }
    const [node, next] = mdBlock(lines, i, depth);
    nodes.push(node);
    i = next;
  }
  return nodes;
}

/** One block from line `i`; returns its node and the line after it. */
function mdBlock(lines, i, depth) {
  const line = lines[i];
  const fence = mdFence(line);
  if (fence) return mdFenced(lines, i, fence);
  const heading = MD_HEADING.exec(line);
  if (heading) return [mdInline(h(`h${heading[1].length}`), mdHeadingText(line)), i + 1];
  if (mdIsRule(line)) return [h("hr"), i + 1];
  if (depth < MD_DEPTH && /^ {0,3}>/.test(line)) return mdQuote(lines, i, depth);
  if (depth < MD_DEPTH && MD_LIST.test(line)) return mdList(lines, i, depth);
  if (line.includes("|") && mdIsTableRule(lines[i + 1], line)) return mdTable(lines, i);
  if (/^(?: {4}|\t)/.test(line)) return mdIndented(lines, i);
  return mdParagraph(lines, i, depth);
}

function mdHeadingText(line) {
  let text = line.trim();
  text = text.slice(/^#+/.exec(text)[0].length).trim();
  let end = text.length;
  while (text[end - 1] === "#") end -= 1;
  return end === 0 || text[end - 1] === " " ? text.slice(0, end).trim() : text;
}

function mdFenced(lines, i, fence) {
  let end = i + 1;
  while (end < lines.length && !mdCloses(lines[end], fence)) end += 1;
  return [h("pre", { tabindex: 0, role: "group", "aria-label": "code" }, h("code", { text: lines.slice(i + 1, end).join("\n") })), end + 1];
}

function mdIndented(lines, i) {
  let end = i;
  while (end < lines.length && (/^(?: {4}|\t)/.test(lines[end]) || !lines[end].trim())) end += 1;
  const text = lines.slice(i, end).map((line) => (line[0] === "\t" ? line.slice(1) : line.slice(4)));
  return [h("pre", { tabindex: 0, role: "group", "aria-label": "code" }, h("code", { text: text.join("\n").trimEnd() })), end];
}

function mdQuote(lines, i, depth) {
  let end = i;
  while (end < lines.length && /^ {0,3}>/.test(lines[end])) end += 1;
  const inner = lines.slice(i, end).map((line) => line.slice(line.indexOf(">") + 1).replace(/^ /, ""));
  return [h("blockquote", {}, ...mdBlocks(inner, depth + 1)), end];
}

function mdList(lines, i, depth) {
  const first = MD_LIST.exec(lines[i]);
  const ordered = /\d/.test(first[2]);
  const sign = first[2].at(-1);
  const list = h(ordered ? "ol" : "ul", { start: ordered && first[2] !== "1." ? parseInt(first[2], 10) : null });
  while (i < lines.length) {
    const mark = MD_LIST.exec(lines[i]);
    if (!mark || mark[2].at(-1) !== sign || mdIsRule(lines[i])) break;
    const [item, next] = mdItem(lines, i, mark[0].length, depth);
    list.append(item);
    i = next;
  }
  return [list, i];
}

function mdItem(lines, i, width, depth) {
  const inner = [lines[i].slice(width)];
  let end = i + 1;
  let blank = false;
  for (; end < lines.length; end += 1) {
    const line = lines[end];
    const indent = line.length - line.trimStart().length;
    if (line.trim() && indent < Math.min(width, 2) && (blank || mdStartsBlock(line))) break;
    blank = !line.trim();
    inner.push(line.slice(Math.min(indent, width)));
  }
  while (inner.length > 1 && !inner.at(-1).trim()) {
    inner.pop();
    if (end < lines.length && MD_LIST.test(lines[end])) continue;
  }
  const task = /^\[([ xX])\] /.exec(inner[0]);
  if (task) inner[0] = inner[0].slice(4);
  const nodes = mdBlocks(inner, depth + 1);
  const item = h("li", {}, task ? (task[1] === " " ? "\u2610 " : "\u2611 ") : null);
  for (const node of nodes) item.append(...(node.tagName === "P" && node === nodes[0] ? node.childNodes : [node]));
  return [item, end];
}

function mdStartsBlock(line) {
  return MD_HEADING.test(line) || MD_LIST.test(line) || /^ {0,3}>/.test(line) || mdFence(line) || mdIsRule(line);
}

function mdParagraph(lines, i, depth) {
  let end = i + 1;
  while (end < lines.length && lines[end].trim() && !(depth < MD_DEPTH && mdStartsBlock(lines[end]))) end += 1;
  const text = lines.slice(i, end).map((line) => line.trimStart());
  return [mdInline(h("p"), text.join("\n")), end];
}

function mdIsTableRule(line, head) {
  if (!line || !line.includes("-") || !/^[ \t|:-]+$/.test(line)) return false;
  return mdCells(line).length === mdCells(head).length;
}

function mdCells(line) {
  const cells = [""];
  const text = line.trim();
  for (let i = text[0] === "|" ? 1 : 0; i < text.length; i += 1) {
    if (text[i] === "\\" && text[i + 1] === "|") {
      cells[cells.length - 1] += "|";
      i += 1;
    } else if (text[i] === "|") {
      if (i < text.length - 1) cells.push("");
    } else cells[cells.length - 1] += text[i];
  }
  return cells.map((cell) => cell.trim());
}

function mdTable(lines, i) {
  const align = mdCells(lines[i + 1]).map((cell) =>
    cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "right") : null,
  );
  const row = (line, tag) => {
    const cells = mdCells(line).slice(0, align.length);
    return h("tr", {}, ...cells.map((cell, n) => mdInline(h(tag, { class: align[n] && `rc-${align[n]}` }), cell)));
  };
  let end = i + 2;
  const body = h("tbody");
  for (; end < lines.length && lines[end].trim() && lines[end].includes("|"); end += 1) body.append(row(lines[end], "td"));
  return [h("table", {}, h("thead", {}, row(lines[i], "th")), body), end];
}
