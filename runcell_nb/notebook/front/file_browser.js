// The file browser: Python sends listings and contents; what is chosen here is asked for.

/** The files as they are listed. */
class BrowserStore extends PlacedStore {
  constructor(model, Panel) {
    super(model, Panel);
    this.tree = new FileTree();
  }

  replace(message) {
    this.tree.remove([...this.tree.files.keys()]);
    this.add({ ...message, gone: [] });
  }

  add(message) {
    if (this.stale) return; // a part of the files is no tree
    this.tree.remove(message.gone);
    this.tree.set(message.files);
    this.show(message);
  }
}

/** One drawing of the browser in the page. */
class BrowserPanel {
  constructor(store) {
    this.store = store;
    this.following = true;
    this.requests = new Requests(store.model, () => this.tell("The kernel has not answered yet: it is busy, or gone."));
    this.tree = new TreeView(store.tree, { choose: (row) => this.choose(row), rename: (row) => this.actions.rename(row), remove: (row) => this.actions.remove(row) });
    this.content = new ContentView();
    this.asking = new AskBar(() => this.tree.focus());
    this.actions = new FileActions(this);
    this.problem = h("div", { class: "rc-problem", role: "alert" });
    this.status = h("span", { role: "status" });
    this.cancel = h("button", { type: "button", text: "Cancel", hidden: true });
    this.name = h("div", { class: "rc-path" });
    const pane = h("div", { class: "rc-pane" }, this.name, this.content.el);
    const split = h("div", { class: "rc-split" }, this.tree.el, pane);
    const idle = h("span", { class: "rc-idle", text: "Drop files to upload them · F2 renames · Del deletes" });
    const foot = h("div", { class: "rc-foot" }, this.status, idle, this.cancel);
    // What is shown here is no place for a page's formulas.
    this.root = h("section", { class: "rc-browser mathjax_ignore tex2jax_ignore", "aria-label": "Files of the sandbox" }, this.bar(), this.asking.el, this.problem, split, foot);
    this.letKeysGo = keepKeys(this.root, () => true);
    this.listenToDrops();
    this.refresh();
  }

  bar() {
    const button = (text, title, onclick, more = {}) => h("button", { type: "button", text, title, onclick, ...more });
    this.summary = h("span", { class: "rc-summary" });
    this.follow = button("Follow", "Show the file that is being written", () => this.setFollow(!this.following), { "aria-pressed": "true" });
    this.picker = h("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files to upload", onchange: () => this.picked() });
    const buttons = h(
      "span",
      { class: "rc-buttons" },
      this.follow,
      button("New", "Make a new file", () => this.actions.make(this.folder)),
      button("Upload", "Upload files into the chosen folder, up to 100 MB each; or drop them here", () => this.picker.click()),
      button("Download all", "Download all files as one zip", () => this.actions.download("")),
      button("Mark seen", "Forget the change marks: from now on they say what changes from here", () => this.send("mark")),
      button("Refresh", "Read the listing again", () => this.send("refresh")),
      this.picker,
    );
    return h("div", { class: "rc-bar" }, h("b", { text: "Sandbox" }), this.summary, buttons);
  }

  dispose() {
    this.store.views.delete(this);
    this.letKeysGo();
    this.requests.end();
    this.tree.dispose();
    this.content.forget();
  }

  moved() {
    this.tree.moved();
    this.content.moved();
  }

  refresh() {
    const { head } = this.store;
    if (!head) return;
    setText(this.summary, `${head.title} · ${head.summary}`);
    this.tree.refresh();
    const row = this.chosenRow;
    if (row && this.awaited) this.goTo(row.path, row.folder);
    else if (row?.folder) this.showFolder(row);
    else if (row && row.path === this.path && row.mark !== this.row?.mark) this.showName(row);
  }

  receive(message, buffers) {
    if (message.type === "content" && message.path === this.path) this.show(message, buffers);
    else if (message.type === "follow" && this.following) this.goTo(message.path, false);
    else if (message.type === "problem") this.complain(message.text);
    else this.requests.receive(message, buffers);
  }

  /** The folder that new files go to: the one that is chosen, or that of the chosen file. */
  get folder() {
    const { selected } = this.tree;
    return selected ? (selected.endsWith("/") ? selected.slice(0, -1) : folderOf(selected)) : "";
  }

  /** The person chose a file or folder: stay there. */
  choose(row) {
    this.setFollow(false);
    this.awaited = false;
    this.complain("");
    this.look(row);
  }

  goTo(path, folder) {
    this.tree.show(path, folder);
    this.awaited = !this.chosenRow; // the listing with it is still to come
    if (!this.awaited) this.look(this.chosenRow);
  }

  get chosenRow() {
    return this.tree.rows?.[this.tree.at.get(this.tree.selected)];
  }

  look(row) {
    if (row.folder) {
      this.path = null;
      this.showFolder(row);
      this.content.say(`${countText(row.total, "file")}, ${bytesText(row.size)}`);
    } else this.open(row, row.mark === "D" || (this.changes && row.mark));
  }

  /** Show what a file holds, or what changed in it. */
  open(row, changes) {
    this.path = row.path;
    if (row.mark && row.mark !== "D") this.changes = Boolean(changes);
    this.asDiff = Boolean(changes);
    this.showName(row);
    this.send(changes ? "diff" : "open", row.path);
  }

  setFollow(following) {
    this.following = following;
    this.follow.setAttribute("aria-pressed", String(following));
  }

  send(type, path) {
    this.store.model.send(path === undefined ? { type } : { type, path });
  }

  show(message, buffers) {
    this.content.show(message, buffers);
    const counts = message.kind === "diff" && message.added !== null ? `+${message.added} −${message.removed} ` : "";
    const said = message.kind === "binary" || message.kind === "missing" ? "" : message.note; // it stands in the content
    setText(this.note, counts + said);
  }

  showName(row) {
    this.row = row;
    const act = (text, title, onclick, more = {}) => h("button", { type: "button", text, title, onclick, ...more });
    this.note = h("span", { class: "rc-note" });
    const there = row.mark !== "D";
    const held = this.name.contains(document.activeElement) ? document.activeElement.textContent : null;
    const view = (text, changes) => act(text, null, () => this.open(this.row, changes), { "aria-pressed": String(this.asDiff === changes) });
    const views = row.mark && there ? [view("Content", false), view("Changes", true)] : [];
    const zip = there && /\.zip$/i.test(row.path) ? [act("Extract", "Open the archive into a new folder", () => this.actions.extract(row.path))] : [];
    this.name.replaceChildren(h("bdi", { text: plainName(row.path), title: plainName(row.path) }), this.note, h("span", { class: "rc-buttons" }, ...views, ...zip, ...(there ? this.fileButtons(row, act) : [])));
    if (held) [...this.name.querySelectorAll("button")].find((button) => button.textContent === held)?.focus();
  }

  showFolder(row) {
    if (this.row?.folder && this.row.path === row.path && this.row.total === row.total && this.row.size === row.size) return;
    this.asDiff = false;
    this.showName(row);
  }

  fileButtons(row, act) {
    return [
      act("Download", row.folder ? "Download the folder as a zip" : "Download the file", () => this.actions.download(row.path)),
      act("Rename", "Rename or move (F2)", () => this.actions.rename(row)),
      act("Delete", "Delete (Del)", () => this.actions.remove(row)),
    ];
  }

  ask(question) {
    return this.asking.ask(question);
  }

  /** Tell something in passing; `stop` makes it something that can be cancelled. */
  tell(text, stop = null) {
    setText(this.status, text);
    this.cancel.hidden = !stop;
    this.cancel.onclick = stop;
    if (text) setText(this.problem, "");
  }

  complain(text) {
    setText(this.problem, text);
  }

  picked() {
    const files = [...this.picker.files];
    this.picker.value = "";
    void this.actions.upload(files, this.folder);
  }

  listenToDrops() {
    const folderAt = (event) => {
      const row = this.tree.rowAt(event.target);
      return row ? (row.folder ? row.path : folderOf(row.path)) : "";
    };
    const on = (name, call) => this.root.addEventListener(name, (event) => {
      if (![...(event.dataTransfer?.types ?? [])].includes("Files") || this.ended) return;
      event.preventDefault();
      event.stopPropagation(); // or the notebook takes the files
      call(event);
    });
    on("dragenter", () => {});
    on("dragover", (event) => this.tree.aim(folderAt(event)));
    on("dragleave", (event) => this.root.contains(event.relatedTarget) || this.tree.aim(null));
    on("drop", (event) => {
      const folder = folderAt(event);
      const { files, folders } = droppedFiles(event.dataTransfer);
      this.tree.aim(null);
      void this.actions.upload(files, folder);
      if (folders.length) this.complain(`Folders cannot be uploaded (${folders.map(plainName).join(", ")}); pack them as a zip and extract it here.`);
    });
  }

  /** The model is dead: what is shown stays, nothing more can be asked. */
  kernelEnded() {
    if (this.ended) return;
    this.ended = true;
    this.asking.finish(null);
    this.requests.end();
    this.root.classList.add("rc-ended");
    for (const button of this.root.querySelectorAll(".rc-bar button, .rc-path button")) button.disabled = true;
    this.tell("The kernel has ended. This is how the files were; run the cell again to go on.");
  }
}

export default () => placedWidget(BrowserStore, BrowserPanel);
