// The tree in the page: any number of files, of which only the rows in sight are in the page.

const ROW_HEIGHT = 22;
const ROWS_BESIDE = 10;
const MARK_WORDS = { N: "new", M: "modified", D: "deleted", "•": "changes inside" };

/** The key of a row: a folder may have the name of a deleted file. */
function keyOf(path, folder) {
  return folder ? `${path}/` : path;
}

/** A scrolling window on the rows of a tree, one of them in the tab order. */
class TreeView {
  /** `on.choose(row)`, `on.rename(row)` and `on.remove(row)` are called for what a person does to a row. */
  constructor(tree, on) {
    this.tree = tree;
    this.on = on;
    this.active = this.selected = this.target = null;
    this.cache = new Map();
    this.space = h("div", { class: "rc-space", role: "none" });
    this.el = h("div", { class: "rc-tree", role: "tree", "aria-label": "Files", onscroll: () => this.scrolled() }, this.space);
    this.el.addEventListener("keydown", (event) => this.key(event));
    this.el.addEventListener("click", (event) => this.click(event));
    this.el.addEventListener("focusin", (event) => this.focused(event));
    this.scroll = 0;
    this.resized = new ResizeObserver(() => this.paint());
    this.resized.observe(this.el);
  }

  refresh() {
    const was = this.at?.get(this.active) ?? 0;
    this.rows = this.tree.rows();
    this.at = new Map(this.rows.map((row, index) => [keyOf(row.path, row.folder), index]));
    if (!this.at.has(this.active)) this.active = this.rows.length ? this.keyAt(Math.min(was, this.rows.length - 1)) : null;
    this.space.style.height = `${this.rows.length * ROW_HEIGHT}px`;
    this.paint();
  }

  keyAt(index) {
    return keyOf(this.rows[index].path, this.rows[index].folder);
  }

  scrolled() {
    this.scroll = this.el.scrollTop;
    this.paint();
  }

  /** Put the rows in sight, and the one that holds the focus, into the page. */
  paint() {
    if (!this.rows) return;
    const first = Math.max(0, Math.floor(this.el.scrollTop / ROW_HEIGHT) - ROWS_BESIDE);
    const last = Math.min(this.rows.length, Math.ceil((this.el.scrollTop + this.el.clientHeight) / ROW_HEIGHT) + ROWS_BESIDE);
    const focused = this.el.contains(document.activeElement) && document.activeElement !== this.el;
    const wanted = new Set(Array.from({ length: Math.max(0, last - first) }, (_, n) => first + n));
    if (this.at.has(this.active)) wanted.add(this.at.get(this.active));
    this.place([...wanted].sort((a, b) => a - b).map((index) => this.drawn(index)));
    if (focused) this.focus();
  }

  /** Put rows into the page; those that stay are left alone, so that a click on one is not lost. */
  place(rows) {
    const kept = new Set(rows);
    for (const el of [...this.space.children]) if (!kept.has(el)) el.remove();
    rows.forEach((el, n) => this.space.children[n] === el || this.space.insertBefore(el, this.space.children[n] ?? null));
    this.cache = new Map(rows.map((el) => [el.rcKey, el]));
  }

  /** The element of a row: the one that is there when it would look the same. */
  drawn(index) {
    const row = this.rows[index];
    const name = this.keyAt(index);
    const key = JSON.stringify([index, row, name === this.selected]);
    const el = this.cache.get(key) ?? this.row(index);
    el.rcKey = key;
    // In place: the pointer is on this very element, and a click on one that is exchanged meanwhile is lost.
    el.classList.toggle("rc-target", name === this.target);
    el.tabIndex = name === this.active ? 0 : -1;
    return el;
  }

  row(index) {
    const row = this.rows[index];
    const name = this.keyAt(index);
    const word = MARK_WORDS[row.mark];
    const size = row.folder ? "" : row.mark === "D" ? "" : bytesText(row.size);
    const classes = ["rc-row", name === this.selected && "rc-selected", row.mark === "D" && "rc-gone"];
    const attrs = {
      class: classes.filter(Boolean).join(" "),
      role: "treeitem",
      title: row.name.length > 24 ? plainName(row.path) : null,
      style: `top:${index * ROW_HEIGHT}px;padding-left:${6 + 14 * Math.min(row.level - 1, 20)}px`,
      "aria-level": row.level,
      "aria-posinset": row.position,
      "aria-setsize": row.count,
      "aria-selected": String(name === this.selected),
      "aria-expanded": row.folder ? String(row.open) : null,
      "aria-label": [plainName(row.name), row.folder ? "folder" : size, word].filter(Boolean).join(", "),
    };
    const el = h(
      "div",
      attrs,
      h("span", { class: "rc-twist", text: row.folder ? (row.open ? "\u25be" : "\u25b8") : "" }),
      h("bdi", { class: "rc-file", text: plainName(row.name) }),
      h("span", { class: "rc-size", text: size }),
      h("span", { class: `rc-mark rc-mark-${word ? word[0] : ""}`, text: row.mark, title: word }),
    );
    el.dataset.index = String(index);
    return el;
  }

  /** The row of an element of the page, if it is in one. */
  rowAt(node) {
    const el = node.closest?.(".rc-row");
    return el && this.space.contains(el) ? this.rows[Number(el.dataset.index)] : null;
  }

  /** Show where something would be dropped: a folder, "" for the workspace, null for nowhere. */
  aim(folder) {
    const target = folder === null ? null : keyOf(folder, true);
    this.el.classList.toggle("rc-target", folder === "");
    if (target === this.target) return;
    this.target = target;
    this.paint();
  }

  click(event) {
    const row = this.rowAt(event.target);
    if (!row) return;
    this.active = keyOf(row.path, row.folder);
    this.act(row);
  }

  /** A row got the focus, by whatever way: keys are meant for it from now on. */
  focused(event) {
    const row = this.rowAt(event.target);
    if (!row || this.active === keyOf(row.path, row.folder)) return;
    this.active = keyOf(row.path, row.folder);
    this.paint();
  }

  act(row) {
    this.selected = keyOf(row.path, row.folder);
    if (row.folder) this.fold(row, !row.open);
    else this.paint();
    this.on.choose(row);
    this.focus();
  }

  fold(row, open) {
    this.tree.toggle(row.path, open);
    this.refresh();
  }

  /** Select a path from outside: open its folders and bring it into sight. */
  show(path, folder = false) {
    this.tree.reveal(path);
    this.selected = this.active = keyOf(path, folder);
    this.refresh();
    this.intoSight();
  }

  get activeRow() {
    return this.rows?.[this.at.get(this.active)] ?? null;
  }

  key(event) {
    const index = this.at?.get(this.active);
    if (index === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = this.rows[index];
    const page = Math.max(1, Math.floor(this.el.clientHeight / ROW_HEIGHT) - 1);
    const moves = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: this.rows.length - 1, PageDown: index + page, PageUp: index - page };
    const acts = {
      ArrowRight: () => this.right(row, index),
      ArrowLeft: () => this.left(row),
      Enter: () => this.act(row),
      " ": () => this.act(row),
      F2: () => this.on.rename(row),
      Delete: () => this.on.remove(row),
    };
    if (event.key in moves) this.go(moves[event.key]);
    else if (event.key in acts) acts[event.key]();
    else if (!this.type(event.key, index)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  right(row, index) {
    if (row.folder && !row.open) this.fold(row, true);
    else if (row.folder) this.go(index + 1);
    this.focus();
  }

  left(row) {
    if (row.folder && row.open) this.fold(row, false);
    else if (row.level > 1) this.go(this.at.get(keyOf(folderOf(row.path), true)));
    this.focus();
  }

  /** Go to the next row whose name starts with a typed letter. */
  type(key, index) {
    if (key.length !== 1) return false;
    const count = this.rows.length;
    for (let step = 1; step <= count; step += 1) {
      const at = (index + step) % count;
      if (!this.rows[at].name.toLowerCase().startsWith(key.toLowerCase())) continue;
      this.go(at);
      return true;
    }
    return false;
  }

  go(index) {
    this.active = this.keyAt(Math.min(Math.max(index, 0), this.rows.length - 1));
    this.intoSight();
    this.focus();
  }

  intoSight() {
    const top = (this.at.get(this.active) ?? 0) * ROW_HEIGHT;
    if (top < this.el.scrollTop) this.el.scrollTop = top;
    else if (top + ROW_HEIGHT > this.el.scrollTop + this.el.clientHeight) this.el.scrollTop = top + ROW_HEIGHT - this.el.clientHeight;
    this.paint();
  }

  focus() {
    this.space.querySelector("[tabindex='0']")?.focus({ preventScroll: true });
  }

  /** The element was put elsewhere in the page, which forgets how far it was scrolled. */
  moved() {
    this.el.scrollTop = this.scroll;
    this.paint();
  }

  dispose() {
    this.resized.disconnect();
  }
}
