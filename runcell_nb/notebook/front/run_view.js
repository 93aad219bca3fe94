// The live view of a run: the store keeps what the updates add up to, so that a view can be drawn at any time.

const STEPS_UNFOLDED = 6;
const STEPS_IN_SIGHT = 30;
const STEPS_FOLDED_AT_ONCE = 20;
const NEWS_PAUSE = 15_000;
const STATE_WORDS = { done: "done in", failed: "failed after", stopped: "stopped after" };

/** A run as it is shown. */
class RunStore extends NumberedStore {
  constructor(model) {
    super(model);
    this.header = null;
    this.files = { count: 0, listed: [] };
    this.blocks = [];
  }

  replace(message) {
    this.blocks = [];
    for (const patch of message.blocks) this.patch(patch);
    this.take(message);
    for (const view of this.views) view.rebuild();
  }

  add(message) {
    for (const patch of message.blocks) {
      this.patch(patch);
      for (const view of this.views) view.block(patch);
    }
    this.take(message);
    for (const view of this.views) view.head();
  }

  take(message) {
    this.header = message.header;
    if (message.files) this.files = message.files;
    this.received = performance.now();
  }

  patch(patch) {
    if (patch.append === undefined) this.blocks[patch.i] = patch;
    else {
      const block = (this.blocks[patch.i] ??= { kind: patch.kind, text: "" });
      block.text += patch.append;
      block.omitted = patch.omitted;
    }
  }

  elapsed() {
    const { state, elapsed } = this.header;
    return state === "running" ? elapsed + (performance.now() - this.received) / 1000 : elapsed;
  }
}

/** One drawing of a run in the page. */
class RunPanel {
  constructor(store, el) {
    this.store = store;
    this.dot = h("span", { class: "rc-dot" });
    this.model = h("b");
    this.note = h("span", { class: "rc-note" });
    this.thread = h("span");
    this.step = h("span");
    this.time = h("span", { class: "rc-time" });
    this.tokens = h("span");
    this.cost = h("b", { class: "rc-cost" });
    this.stop = h("button", { type: "button", class: "rc-stop", text: "Stop", onclick: () => this.askStop() });
    this.status = h("span", { class: "rc-hidden", role: "status", "aria-live": "polite" });
    this.earlier = h("div");
    this.earlierCount = h("span", { class: "rc-meta" });
    this.earlierFold = h("details", { class: "rc-step", hidden: true }, h("summary", {}, this.earlierCount), this.earlier);
    this.steps = h("div", { class: "rc-steps" });
    this.now = h("div", { class: "rc-now", "aria-hidden": "true" });
    this.error = h("div", { class: "rc-error", role: "alert" });
    this.window = new FollowingWindow("Steps of the run", this.earlierFold, this.steps, this.now, this.error);
    this.files = h("div", { class: "rc-files", hidden: true });
    const who = h("span", { class: "rc-who" }, this.dot, this.model);
    const where = h("span", { class: "rc-where" }, this.thread, this.step, this.time);
    const money = h("span", { class: "rc-money" }, this.tokens, this.cost, this.stop);
    const head = h("div", { class: "rc-head" }, who, where, money, this.status);
    this.root = h("section", { class: "rc-run", "aria-label": "Agent run" }, head, this.note, this.window.el, this.files);
    this.letKeysGo = keepKeys(this.root, moves);
    el.append(this.root);
    this.rebuild();
    this.timer = setInterval(() => this.tick(), 200);
  }

  dispose() {
    clearInterval(this.timer);
    this.window.dispose();
    this.letKeysGo();
  }

  rebuild() {
    this.parts = [];
    this.steps.replaceChildren();
    this.earlier.replaceChildren();
    this.earlierFold.hidden = true;
    this.store.blocks.forEach((block, i) => this.add(block, i));
    if (this.store.header) this.head();
  }

  block(patch) {
    const block = this.store.blocks[patch.i];
    if (this.parts[patch.i]) this.parts[patch.i].update(block, patch);
    else this.add(block, patch.i);
  }

  add(block, i) {
    this.parts[i] = makePart(block);
    this.steps.append(this.parts[i].el);
    this.parts[i - STEPS_UNFOLDED]?.rest();
    const many = this.steps.childElementCount >= STEPS_IN_SIGHT + STEPS_FOLDED_AT_ONCE;
    if (many && this.window.following) this.foldEarlier(); // never what somebody looks at
  }

  /** A long run stays readable: its older steps go into a fold. */
  foldEarlier() {
    for (let n = 0; n < STEPS_FOLDED_AT_ONCE; n += 1) this.earlier.append(this.steps.firstElementChild);
    this.earlierFold.hidden = false;
    setText(this.earlierCount, countText(this.earlier.childElementCount, "earlier step"));
  }

  head() {
    const { header } = this.store;
    const running = header.state === "running";
    if (!running) for (const part of this.parts) part?.settle?.();
    this.root.dataset.state = header.state;
    setText(this.model, header.model || "model");
    setText(this.note, header.note);
    const turn = header.turn ? ` · turn ${header.turn}` : "";
    if (header.thread) this.thread.replaceChildren("thread ", h("b", { text: header.thread }), turn);
    setText(this.step, running && header.step ? `step ${header.step}` : "");
    setText(this.tokens, header.tokens);
    setText(this.cost, header.cost);
    this.stop.hidden = !running;
    setText(this.now, running ? header.activity : "");
    this.showError(header);
    this.showFiles();
    this.announce(header);
    this.tick();
  }

  showError(header) {
    const fallback = header.state === "stopped" ? "Stopped." : "";
    setText(this.error, header.error?.message || fallback);
  }

  /** Tell who cannot see it how the run goes: its start, its end, and now and then what it does. */
  announce(header) {
    const tell = (text) => {
      this.told = performance.now();
      setText(this.status, text);
    };
    if (header.state !== "running") tell(`Run ${STATE_WORDS[header.state]} ${secondsText(header.elapsed)}.`);
    else if (this.told === undefined) tell("Run started.");
    else if (performance.now() - this.told > NEWS_PAUSE) tell(`Step ${header.step}, ${header.activity}.`);
  }

  tick() {
    const { header } = this.store;
    if (!header) return;
    const words = STATE_WORDS[header.state];
    setText(this.time, `${words ? words + " " : ""}${secondsText(this.store.elapsed())}`);
    if (header.state === "running") for (const part of this.parts) if (part?.running) part.tick();
  }

  showFiles() {
    const { count, listed } = this.store.files;
    const shown = JSON.stringify(listed) + count;
    if (shown === this.shownFiles) return;
    this.shownFiles = shown;
    this.files.hidden = !count;
    const more = count > listed.length ? [h("span", { class: "rc-meta", text: `and ${count - listed.length} more` })] : [];
    this.files.replaceChildren(h("span", { class: "rc-meta", text: `${countText(count, "file")} changed` }), ...listed.map((file) => this.chip(file)), ...more);
  }

  chip(file) {
    const known = file.block !== null;
    const attrs = { class: "rc-chip", title: `${file.path}: ${file.change}` };
    if (known) Object.assign(attrs, { type: "button", onclick: () => this.show(file.block) });
    const counts = file.added || file.removed ? countBits(file) : null;
    return h(known ? "button" : "span", attrs, h("bdi", { text: file.path, class: `rc-file-${file.change}` }), counts);
  }

  /** Unfold a step and go there. */
  show(index) {
    const el = this.parts[index].el;
    if (this.earlier.contains(el)) this.earlierFold.open = true;
    el.open = true;
    this.window.stay();
    el.scrollIntoView({ block: "nearest" });
    el.querySelector("summary").focus();
  }

  askStop() {
    this.stop.disabled = true;
    setText(this.stop, "Stopping…");
    this.store.model.send({ type: "stop" });
  }
}

export default () => widgetOf(RunStore, RunPanel);
