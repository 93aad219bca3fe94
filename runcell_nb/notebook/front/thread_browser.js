// The thread browser: Python sends the threads and the turns of one of them; what is chosen and done here is asked for.

const NEWS_PAUSE = 1_000;
const ANSWER_PATIENCE = 3_000;

/** The threads as they are. */
class ThreadStore extends PlacedStore {
  replace(message) {
    this.show(message);
  }
}

/** One drawing of the threads in the page. */
class ThreadPanel {
  constructor(store) {
    this.store = store;
    this.folds = new Map();
    this.asked = 0;
    this.list = new ThreadList({ choose: (key) => this.choose(key), rename: () => this.rename(), remove: () => this.remove() });
    this.asking = new AskBar(() => this.list.focus());
    this.problem = h("div", { class: "rc-problem", role: "alert" });
    this.status = h("span", { role: "status" });
    this.summary = h("span", { class: "rc-summary" });
    const refresh = h("button", { type: "button", text: "Refresh", title: "Look for new turns", onclick: () => this.send({ type: "refresh" }) });
    const bar = h("div", { class: "rc-bar" }, h("b", { text: "Threads" }), this.summary, h("span", { class: "rc-buttons" }, refresh));
    this.name = h("div", { class: "rc-chosen" });
    this.turns = h("div", { class: "rc-turns", role: "region", tabindex: "0" });
    const pane = h("div", { class: "rc-pane" }, this.name, this.turns);
    const split = h("div", { class: "rc-split" }, this.list.el, pane);
    this.idle = h("span", { class: "rc-idle" });
    const foot = h("div", { class: "rc-foot" }, this.status, this.idle);
    // What is shown here is no place for a page's formulas.
    this.root = h("section", { class: "rc-run rc-threads mathjax_ignore tex2jax_ignore", "aria-label": "Threads of the notebook" }, bar, this.asking.el, this.problem, split, foot);
    this.letKeysGo = keepKeys(this.root, () => true);
    this.root.addEventListener("pointerenter", () => this.lookForNews());
    this.root.addEventListener("focusin", (event) => this.root.contains(event.relatedTarget) || this.lookForNews());
    this.refresh();
  }

  dispose() {
    clearTimeout(this.slow);
    this.store.views.delete(this);
    this.letKeysGo();
  }

  /** The panel was put elsewhere in the page, which loses its scroll positions. */
  moved() {
    this.turns.scrollTop = this.scrolled ?? this.turns.scrollHeight;
  }

  get row() {
    return this.store.head.threads.find((row) => row.key === this.store.head.chosen);
  }

  refresh() {
    const { head } = this.store;
    if (!head) return;
    const same = this.shown === head.chosen;
    if (!same) this.folds.clear();
    this.shown = head.chosen;
    const held = this.root.contains(document.activeElement) ? document.activeElement.dataset.at : null;
    const { scrollTop } = this.turns;
    setText(this.summary, countText(head.threads.length, "thread"));
    setText(this.idle, head.editable ? "Arrow keys choose · F2 renames · Del deletes" : "");
    this.list.show(head.threads, head.chosen);
    this.name.replaceChildren(...this.nameParts(head));
    this.turns.replaceChildren(...this.turnParts(head));
    this.turns.setAttribute("aria-label", this.row ? `Turns of ${this.row.name}` : "Turns");
    this.turns.scrollTop = same ? scrollTop : this.turns.scrollHeight;
    if (held) ([...this.root.querySelectorAll("[data-at]")].find((node) => node.dataset.at === held) ?? this.list).focus();
  }

  nameParts(head) {
    if (!this.row) return [];
    const button = (at, text, title, onclick, more = {}) => h("button", { type: "button", text, title, onclick, "data-at": at, ...more });
    const { active } = this.row;
    const buttons = [
      button("switch", "Switch to it", active ? "Cells go on with it already" : "Let cells go on with this thread", () => this.act("switch"), { disabled: active }),
      button("fork", "Fork", "Copy the whole thread under another name", () => this.act("fork")),
      button("rename", "Rename", "Give it another name (F2)", () => this.rename()),
      button("delete", "Delete", "Remove this thread (Del)", () => this.remove()),
    ];
    return [h("bdi", { text: this.row.name, title: this.row.name }), h("span", { class: "rc-buttons" }, ...(head.editable ? buttons : []))];
  }

  turnParts(head) {
    const on = {
      fold: (turn, open) => this.folds.set(turn.number, open),
      fork: (turn) => this.act("fork", { keep: turn.keep }),
      rewind: (turn) => this.rewind(turn),
      choose: (key) => this.choose(key),
    };
    const count = head.turns.length;
    const open = (turn) => this.folds.get(turn.number) ?? opensAtFirst(turn, count);
    const parts = head.turns.map((turn) => turnElement(turn, { open: open(turn), editable: head.editable, on }));
    const notes = count ? head.notes : ["Nothing has been said here yet.", ...head.notes];
    return [...parts, ...notes.map((text) => h("div", { class: "rc-hint", text }))];
  }

  receive(message) {
    clearTimeout(this.slow);
    if (message.type === "problem") this.complain(message.text);
    else if (message.type === "said") this.tell(message.text);
  }

  choose(key) {
    this.tell("");
    this.send({ type: "choose", key });
  }

  act(type, more = {}) {
    const { chosen, version } = this.store.head;
    this.send({ type, key: chosen, version, ...more });
  }

  async rewind(turn) {
    const text = `Rewind ${this.row.name} to turn ${turn.number}? The later turns stay as a fork. The files are not taken back.`;
    const ask = { type: "rewind", key: this.store.head.chosen, version: this.store.head.version, keep: turn.keep };
    if (await this.asking.ask({ text, choices: [{ value: "rewind", label: "Rewind" }] })) this.send(ask);
  }

  async rename() {
    if (!this.row || !this.store.head.editable || this.ended) return;
    const { key, name } = this.row;
    const answer = await this.asking.ask({ text: `New name of ${name}`, field: { value: name }, choices: [{ value: "rename", label: "Rename" }] });
    if (answer && answer.text !== name) this.send({ type: "rename", key, version: this.store.head.version, to: answer.text });
  }

  async remove() {
    if (!this.row || !this.store.head.editable || this.ended) return;
    const { version } = this.store.head;
    const { key, name, count } = this.row;
    const text = `Delete ${name} and its ${countText(count, "turn")}? This cannot be undone.`;
    const answer = await this.asking.ask({ text, choices: [{ value: "delete", label: "Delete", danger: true }], careful: true });
    if (answer) this.send({ type: "delete", key, version });
  }

  send(message) {
    if (this.ended) return;
    clearTimeout(this.slow);
    this.slow = setTimeout(() => this.tell("The kernel has not answered yet: it is busy, or gone."), ANSWER_PATIENCE);
    if (message.type === "refresh") clearTimeout(this.slow); // answered only when there is news
    this.store.model.send(message);
  }

  /** Somebody turns to the browser: cells may have run since. */
  lookForNews() {
    if (performance.now() - this.asked < NEWS_PAUSE) return;
    this.asked = performance.now();
    this.send({ type: "refresh" });
  }

  tell(text) {
    setText(this.status, text);
    setText(this.problem, "");
  }

  complain(text) {
    setText(this.status, "");
    setText(this.problem, text);
  }

  /** The model is dead: what is shown stays, nothing more can be asked. */
  kernelEnded() {
    if (this.ended) return;
    this.ended = true;
    clearTimeout(this.slow);
    this.asking.finish(null);
    this.root.classList.add("rc-ended");
    for (const button of this.root.querySelectorAll(".rc-buttons button, .rc-link")) button.disabled = true;
    this.tell("The kernel has ended. This is how the threads were; run the cell again to go on.");
  }
}

export default () => placedWidget(ThreadStore, ThreadPanel);
