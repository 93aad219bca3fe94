// The tree of a workspace: any number of files, of which only the rows in sight are in the page.

const ROW_HEIGHT = 22;
const ROWS_BESIDE = 10;
const OPEN_WHEN_FEWER = 40;

/** Paths with sizes and marks, as folders and files. */
class FileTree {
  constructor() {
    this.files = new Map();
    this.open = new Set();
    this.fresh = true;
  }

  set(files) {
    for (const [path, size, mark] of files) this.files.set(path, { size, mark });
    this.root = null;
  }

  remove(paths) {
    for (const path of paths) this.files.delete(path);
    this.root = null;
  }

  /** The rows that are to be seen, top to bottom. */
  rows() {
    this.root ??= this.build();
    const rows = [];
    this.collect(this.root, "", 1, rows);
    return rows;
  }

  build() {
    const root = { folders: new Map(), files: [], marks: "" };
    for (const path of [...this.files.keys()].sort()) this.place(root, path);
    if (this.fresh && this.files.size) {
      this.fresh = false;
      if (this.files.size < OPEN_WHEN_FEWER) for (const path of this.files.keys()) this.reveal(path);
    }
    return root;
  }

  place(root, path) {
    const parts = path.split("/");
    const name = parts.pop();
    const { mark } = this.files.get(path);
    let folder = root;
    for (const part of parts) {
      if (!folder.folders.has(part)) folder.folders.set(part, { folders: new Map(), files: [], marks: "" });
      folder = folder.folders.get(part);
      if (mark) folder.marks = "•";
    }
    folder.files.push({ name, path });
  }

  collect(folder, prefix, level, rows) {
    const count = folder.folders.size + folder.files.length;
    let position = 0;
    for (const [name, inner] of folder.folders) {
      const path = prefix + name;
      const open = this.open.has(path);
      position += 1;
      rows.push({ folder: true, open, name, path, level, position, count, mark: open ? "" : inner.marks });
      if (open) this.collect(inner, path + "/", level + 1, rows);
    }
    for (const { name, path } of folder.files) {
      position += 1;
      rows.push({ folder: false, name, path, level, position, count, ...this.files.get(path) });
    }
  }

  /** Open the folders above a path. */
  reveal(path) {
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) this.open.add(path.slice(0, at));
  }

  toggle(path, open) {
    if (open) this.open.add(path);
    else this.open.delete(path);
  }
}

const MARK_WORDS = { N: "new", M: "modified", "•": "changes inside" };

/** The tree in the page: a scrolling window on its rows, one of them in the tab order. */
class TreeView {
  constructor(tree, onOpen) {
    this.tree = tree;
    this.onOpen = onOpen;
    this.active = null;
    this.selected = null;
    this.cache = new Map();
    this.space = h("div", { class: "rc-space", role: "none" });
    this.el = h("div", { class: "rc-tree", role: "tree", "aria-label": "Files", onscroll: () => this.paint() }, this.space);
    this.el.addEventListener("keydown", (event) => this.key(event));
    this.el.addEventListener("click", (event) => this.click(event));
    this.resized = new ResizeObserver(() => this.paint());
    this.resized.observe(this.el);
  }

  refresh() {
    this.rows = this.tree.rows();
    this.at = new Map(this.rows.map((row, index) => [row.path, index]));
    if (!this.at.has(this.active)) this.active = this.rows[0]?.path ?? null;
    this.space.style.height = `${this.rows.length * ROW_HEIGHT}px`;
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
    const key = JSON.stringify([index, row, row.path === this.selected, row.path === this.active]);
    const el = this.cache.get(key) ?? this.row(index);
    el.rcKey = key;
    return el;
  }

  row(index) {
    const row = this.rows[index];
    const selected = row.path === this.selected;
    const word = MARK_WORDS[row.mark];
    const attrs = {
      class: `rc-row${selected ? " rc-selected" : ""}`,
      role: "treeitem",
      tabindex: row.path === this.active ? 0 : -1,
      style: `top:${index * ROW_HEIGHT}px;padding-left:${6 + 14 * (row.level - 1)}px`,
      "aria-level": row.level,
      "aria-posinset": row.position,
      "aria-setsize": row.count,
      "aria-selected": String(selected),
      "aria-expanded": row.folder ? String(row.open) : null,
      "aria-label": `${row.name}${row.folder ? ", folder" : `, ${bytesText(row.size)}`}${word ? `, ${word}` : ""}`,
    };
    const el = h(
      "div",
      attrs,
      h("span", { class: `rc-mark rc-mark-${word ? word[0] : ""}`, text: row.mark, title: word }),
      h("span", { class: "rc-twist", text: row.folder ? (row.open ? "\u25be" : "\u25b8") : "" }),
      h("bdi", { class: "rc-file", text: plainName(row.name) }),
      h("span", { class: "rc-size", text: row.folder ? "" : bytesText(row.size) }),
    );
    el.dataset.index = String(index);
    return el;
  }

  click(event) {
    const el = event.target.closest(".rc-row");
    if (!el) return;
    const row = this.rows[Number(el.dataset.index)];
    this.active = row.path;
    if (row.folder) this.fold(row, !row.open);
    else this.choose(row);
    this.focus();
  }

  choose(row) {
    this.selected = row.path;
    this.paint();
    this.onOpen(row.path);
  }

  fold(row, open) {
    this.tree.toggle(row.path, open);
    this.refresh();
  }

  /** Select a path from outside: open its folders and bring it into sight. */
  show(path) {
    this.tree.reveal(path);
    this.selected = this.active = path;
    this.refresh();
    this.intoSight();
  }

  key(event) {
    const index = this.at?.get(this.active);
    if (index === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = this.rows[index];
    const page = Math.max(1, Math.floor(this.el.clientHeight / ROW_HEIGHT) - 1);
    const moves = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: this.rows.length - 1, PageDown: index + page, PageUp: index - page };
    if (event.key in moves) this.go(moves[event.key]);
    else if (event.key === "ArrowRight") this.right(row, index);
    else if (event.key === "ArrowLeft") this.left(row);
    else if (event.key === "Enter" || event.key === " ") this.act(row);
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
    else if (row.level > 1) this.go(this.at.get(row.path.slice(0, row.path.lastIndexOf("/"))));
    this.focus();
  }

  act(row) {
    if (row.folder) this.fold(row, !row.open);
    else this.choose(row);
    this.focus();
  }

  /** Go to the next row whose name starts with a typed letter. */
  type(key, index) {
    if (key.length !== 1) return false;
    const order = [...this.rows.keys()];
    const turn = [...order.slice(index + 1), ...order.slice(0, index + 1)];
    const found = turn.find((n) => this.rows[n].name.toLowerCase().startsWith(key.toLowerCase()));
    if (found !== undefined) this.go(found);
    return found !== undefined;
  }

  go(index) {
    const bounded = Math.min(Math.max(index, 0), this.rows.length - 1);
    this.active = this.rows[bounded].path;
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

  dispose() {
    this.resized.disconnect();
  }
}

/** A name without characters that hide or turn what follows. */
function plainName(name) {
  // eslint-disable-next-line no-control-regex
  return name.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
