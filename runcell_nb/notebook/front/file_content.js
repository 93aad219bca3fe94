// The content of one file: text, folded JSON, table, picture, difference, or a sentence.

const MAX_PICTURE_POINTS = 50_000_000;

/** What is shown beside the tree. */
class ContentView {
  constructor() {
    this.el = h("div", { class: "rc-content", tabindex: 0, role: "region", "aria-label": "Content of the file", onscroll: () => (this.scroll = this.el.scrollTop) });
    this.scroll = 0;
    this.say("Choose a file to see it.");
  }

  /** Show a message of Python; shown again, a file keeps its place. */
  show(message, buffers) {
    const same = this.path === message.path && this.kind === message.kind;
    const scroll = same ? this.scroll : 0;
    this.forget();
    this.path = message.path;
    this.kind = message.kind;
    this.el.replaceChildren(...this.nodes(message, buffers));
    this.el.scrollTop = this.scroll = scroll;
  }

  nodes(message, buffers) {
    const { kind } = message;
    if (kind === "text") return message.text ? [h("pre", {}, ...coloured(message.text, languageOf(message.path)))] : [hint("This file is empty.")];
    if (kind === "json") return [jsonView(message.text)];
    if (kind === "table") return [tableView(message)];
    if (kind === "diff") return message.lines.length ? [diffView(message.lines)] : [hint("Its content has not changed.")];
    if (kind === "image") this.picture(message, buffers[0]);
    return kind === "image" ? [] : [hint(message.note)];
  }

  /** Draw a picture once its size is known: a small file can be a picture that fills the memory. */
  picture(message, buffer) {
    const url = (this.url = URL.createObjectURL(new Blob([buffer], { type: message.mediaType })));
    const image = new Image();
    image.alt = plainName(message.path);
    image.decoding = "async";
    image.onload = () => {
      if (url !== this.url) return;
      const large = image.naturalWidth * image.naturalHeight > MAX_PICTURE_POINTS;
      const points = `${image.naturalWidth} × ${image.naturalHeight}`;
      this.el.replaceChildren(large ? hint(`A picture of ${points}, too large to show.`) : image, large ? "" : h("p", { class: "rc-hint", text: points }));
    };
    image.onerror = () => url === this.url && this.say("This picture is damaged; it cannot be shown.");
    image.src = url;
  }

  say(sentence) {
    this.forget();
    this.path = this.kind = null;
    this.el.replaceChildren(hint(sentence));
  }

  forget() {
    if (this.url) URL.revokeObjectURL(this.url);
    this.url = null;
  }

  /** The element was put elsewhere in the page, which forgets how far it was scrolled. */
  moved() {
    this.el.scrollTop = this.scroll;
  }
}

function hint(sentence) {
  return h("p", { class: "rc-hint", text: sentence });
}

function tableView({ head, rows }) {
  const numeric = head.map((_, n) => rows.length > 0 && rows.every((row) => isNumber(row[n])));
  const line = (cells, tag) => h("tr", {}, ...cells.map((cell, n) => h(tag, { text: cell, class: numeric[n] ? "rc-number" : null, scope: tag === "th" ? "col" : null })));
  return h("table", {}, h("thead", {}, line(head, "th")), h("tbody", {}, ...rows.map((row) => line(row, "td"))));
}

function isNumber(text) {
  return text === undefined || text === "" || (text.trim() !== "" && Number.isFinite(Number(text.replaceAll(",", ""))));
}

function diffView(lines) {
  const kinds = { "+": "rc-line-added", "-": "rc-line-removed", "@": "rc-line-head" };
  return h("pre", { class: "rc-diff" }, ...lines.map((line) => h("div", { class: kinds[line[0]] ?? null, text: line || " " })));
}
