// The file browser: Python sends listings and contents; what is chosen here is asked for.

/** The files as they are listed. */
class BrowserStore extends NumberedStore {
  constructor(model) {
    super(model);
    this.head = null;
    this.tree = new FileTree();
  }

  receive(message, buffers) {
    super.receive(message);
    if (message.seq === undefined) for (const view of this.views) view.receive(message, buffers);
  }

  replace(message) {
    this.tree.remove([...this.tree.files.keys()]);
    this.add({ ...message, gone: [] });
  }

  add(message) {
    if (this.stale) return; // a part of the files is no tree
    this.tree.remove(message.gone);
    this.tree.set(message.files);
    this.head = message;
    for (const view of this.views) view.refresh();
  }
}

/** One drawing of the browser in the page. */
class BrowserPanel {
  constructor(store, el) {
    this.store = store;
    this.title = h("b", { text: "Sandbox" });
    this.summary = h("span", { class: "rc-summary" });
    this.follow = h("button", { type: "button", "aria-pressed": "true", title: "Show the file that is being written", text: "Follow", onclick: () => this.setFollow(!this.following) });
    this.following = true;
    const refresh = h("button", { type: "button", text: "Refresh", onclick: () => this.ask("refresh") });
    this.download = h("button", { type: "button", text: "Download", disabled: true, onclick: () => this.ask("download", this.path) });
    const buttons = h("span", { class: "rc-buttons" }, this.follow, refresh, this.download);
    const bar = h("div", { class: "rc-bar" }, this.title, this.summary, buttons);
    this.problem = h("div", { class: "rc-problem", role: "alert" });
    this.tree = new TreeView(store.tree, (path) => this.choose(path));
    this.content = h("div", { class: "rc-content", tabindex: 0, role: "region", "aria-label": "Content of the file" });
    this.name = h("div", { class: "rc-path" });
    const pane = h("div", { class: "rc-pane" }, this.name, this.content);
    this.root = h("section", { class: "rc-browser", "aria-label": "Files of the sandbox" }, bar, this.problem, h("div", { class: "rc-split" }, this.tree.el, pane));
    el.append(this.root);
    this.say("Choose a file to see it.");
    this.refresh();
  }

  dispose() {
    this.tree.dispose();
    this.forgetPicture();
  }

  refresh() {
    const { head } = this.store;
    if (!head) return;
    setText(this.summary, `${head.title} · ${head.summary}`);
    this.tree.refresh();
  }

  receive(message, buffers) {
    if (message.type === "content" && message.path === this.path) this.show(message, buffers);
    else if (message.type === "follow" && this.following) this.open(message.path);
    else if (message.type === "file" && message.path === this.wanted) this.save(message.path, buffers[0]);
    else if (message.type === "problem") setText(this.problem, message.text);
  }

  /** The person chose a file: stay there. */
  choose(path) {
    this.setFollow(false);
    this.ask("open", path);
    this.path = path;
  }

  open(path) {
    this.tree.show(path);
    this.path = path;
    this.ask("open", path);
  }

  setFollow(following) {
    this.following = following;
    this.follow.setAttribute("aria-pressed", String(following));
  }

  ask(type, path) {
    setText(this.problem, "");
    if (type === "download") this.wanted = path;
    this.store.model.send(path === undefined ? { type } : { type, path });
  }

  show(message, buffers) {
    const scroll = this.shown === message.path ? this.content.scrollTop : 0;
    this.shown = message.path;
    this.forgetPicture();
    this.download.disabled = message.kind === "missing";
    this.name.replaceChildren(h("bdi", { text: plainName(message.path) }), h("span", { class: "rc-note", text: message.note ?? "" }));
    if (message.kind === "text") this.content.replaceChildren(h("pre", { text: message.text }));
    else if (message.kind === "table") this.content.replaceChildren(this.table(message));
    else if (message.kind === "image") this.content.replaceChildren(this.picture(message, buffers[0]));
    else this.say("");
    this.content.scrollTop = scroll;
  }

  say(sentence) {
    this.content.replaceChildren(h("p", { class: "rc-hint", text: sentence }));
  }

  table({ head, rows }) {
    const numeric = head.map((_, n) => rows.length > 0 && rows.every((row) => isNumber(row[n])));
    const line = (cells, tag) => h("tr", {}, ...cells.map((cell, n) => h(tag, { text: cell, class: numeric[n] ? "rc-number" : null, scope: tag === "th" ? "col" : null })));
    return h("table", {}, h("thead", {}, line(head, "th")), h("tbody", {}, ...rows.map((row) => line(row, "td"))));
  }

  picture(message, buffer) {
    this.url = URL.createObjectURL(new Blob([buffer], { type: message.mediaType }));
    return h("img", { src: this.url, alt: message.path });
  }

  forgetPicture() {
    if (this.url) URL.revokeObjectURL(this.url);
    this.url = null;
  }

  save(path, buffer) {
    this.wanted = null;
    const url = URL.createObjectURL(new Blob([buffer], { type: "application/octet-stream" }));
    const link = h("a", { href: url, download: path.slice(path.lastIndexOf("/") + 1) });
    this.root.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }
}

function isNumber(text) {
  return text === undefined || text === "" || (text.trim() !== "" && Number.isFinite(Number(text.replaceAll(",", ""))));
}

export default () => widgetOf(BrowserStore, BrowserPanel);
