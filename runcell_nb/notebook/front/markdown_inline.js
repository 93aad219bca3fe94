// Inline Markdown to DOM nodes; see markdown.js.

const MD_LABEL = 500;
const MD_TARGET = 2000;
const MD_AUTOLINK = /<((?:https?:\/\/|mailto:)[^\s<>]{1,500})>/y;
const MD_PUNCTUATION = /[!-/:-@[-`{-~]/;

/** Put the inline Markdown of `text` into `parent`. */
function mdInline(parent, text, depth = 0) {
  const missing = new Set();
  let plain = "";
  const flush = () => {
    if (plain) parent.append(plain);
    plain = "";
  };
  for (let i = 0; i < text.length; ) {
    const found = depth < MD_DEPTH && mdSpan(text, i, depth, missing);
    if (found) {
      flush();
      parent.append(found.node);
      i = found.end;
    } else if (text[i] === "\\" && i + 1 < text.length && MD_PUNCTUATION.test(text[i + 1])) {
      plain += text[i + 1];
      i += 2;
    } else {
      plain += text[i];
      i += 1;
    }
  }
  flush();
  return parent;
}

function mdSpan(text, i, depth, missing) {
  switch (text[i]) {
    case "`":
      return mdCode(text, i, missing);
    case "!":
      return text[i + 1] === "[" ? mdImage(text, i) : null;
    case "[":
      return mdLink(text, i, depth);
    case "<":
      return mdAutolink(text, i);
    case "*":
    case "_":
    case "~":
      return mdEmphasis(text, i, depth, missing);
    case "\n":
      return text.slice(Math.max(0, i - 2), i) === "  " || text[i - 1] === "\\" ? { node: h("br"), end: i + 1 } : null;
    default:
      return null;
  }
}

function mdRun(text, i) {
  let end = i;
  while (text[end] === text[i]) end += 1;
  return end - i;
}

function mdCode(text, i, missing) {
  const length = mdRun(text, i);
  const key = `\`${length}`;
  let at = missing.has(key) ? -1 : text.indexOf("`", i + length);
  while (at >= 0 && mdRun(text, at) !== length) at = text.indexOf("`", at + mdRun(text, at));
  if (at < 0) {
    missing.add(key);
    return { node: document.createTextNode(text.slice(i, i + length)), end: i + length };
  }
  let code = text.slice(i + length, at).replaceAll("\n", " ");
  if (code.startsWith(" ") && code.endsWith(" ") && code.trim()) code = code.slice(1, -1);
  return { node: h("code", { text: code }), end: at + length };
}

function mdImage(text, i) {
  const link = mdTarget(text, i + 1);
  if (!link) return null;
  return { node: h("span", { class: "rc-image", text: `[image: ${link.label || link.target}]` }), end: link.end };
}

function mdLink(text, i, depth) {
  const link = mdTarget(text, i);
  if (!link) return null;
  const safe = mdSafeUrl(link.target);
  const node = safe ? mdAnchor(safe) : h("span");
  return { node: mdInline(node, link.label, depth + 1), end: link.end };
}

function mdAutolink(text, i) {
  MD_AUTOLINK.lastIndex = i;
  const found = MD_AUTOLINK.exec(text);
  const safe = found && mdSafeUrl(found[1]);
  if (!safe) return null;
  const node = mdAnchor(safe);
  node.textContent = found[1];
  return { node, end: i + found[0].length };
}

function mdAnchor(url) {
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow" });
}

/** The URL when it is absolute and http, https or mailto; else null. */
function mdSafeUrl(text) {
  try {
    const url = new URL(text);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** `[label](target "title")` at `i`: label, target and end, or null. */
function mdTarget(text, i) {
  const limit = Math.min(text.length, i + MD_LABEL);
  let level = 0;
  let close = -1;
  for (let at = i; at < limit && close < 0; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === "[") level += 1;
    else if (text[at] === "]" && --level === 0) close = at;
  }
  if (close < 0 || text[close + 1] !== "(") return null;
  const inside = text.slice(close + 2, close + 2 + MD_TARGET);
  const end = mdClosingParen(inside);
  if (end < 0) return null;
  const target = inside.slice(0, end).trim().split(/\s/)[0].replace(/^<|>$/g, "");
  return { label: text.slice(i + 1, close), target, end: close + 2 + end + 1 };
}

function mdClosingParen(text) {
  let level = 1;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === "(") level += 1;
    else if (text[at] === ")" && --level === 0) return at;
  }
  return -1;
}

function mdEmphasis(text, i, depth, missing) {
  const sign = text[i];
  const run = mdRun(text, i);
  const length = Math.min(run, 2);
  const whole = { node: document.createTextNode(sign.repeat(run)), end: i + run };
  const after = text[i + run];
  const wordBefore = sign === "_" && /[\p{L}\p{N}]/u.test(text[i - 1] ?? " ");
  const key = sign + length;
  if (!after || /\s/.test(after) || wordBefore || (sign === "~" && run !== 2) || run > 3 || missing.has(key)) return whole;
  const open = run === 3 ? 3 : length;
  const close = mdCloser(text, i + run, sign, open);
  if (close < 0) {
    missing.add(key);
    return whole;
  }
  const inner = text.slice(i + run, close);
  const node = h(sign === "~" ? "s" : open === 1 ? "em" : "strong");
  if (open === 3) node.append(mdInline(h("em"), inner, depth + 1));
  else mdInline(node, inner, depth + 1);
  return { node, end: close + open };
}

function mdCloser(text, from, sign, length) {
  let at = text.indexOf(sign, from);
  while (at >= 0) {
    const run = mdRun(text, at);
    const tight = at > from && !/\s/.test(text[at - 1]);
    const free = sign !== "_" || !/[\p{L}\p{N}]/u.test(text[at + run] ?? " ");
    if (tight && free && (run === length || run === 3)) return run === 3 && length !== 3 ? at + 3 - length : at;
    at = text.indexOf(sign, at + run);
  }
  return -1;
}
