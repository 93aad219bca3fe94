// The parts of a run: text, tool call, notice. Each takes the plain object that Python sends for it.

const STATUS_WORDS = { writing: "writing", running: "running", interrupted: "interrupted", failed: "failed" };

/** A piece of the answer, or of the model's thinking (folded). */
class TextPart {
  constructor(block) {
    this.text = h("div", { class: "rc-text" });
    this.cut = h("div", { class: "rc-meta" });
    const thinking = block.kind === "reasoning";
    this.el = thinking
      ? h("details", { class: "rc-step" }, h("summary", {}, h("span", { class: "rc-meta", text: "thinking" })), this.text, this.cut)
      : h("div", {}, this.text, this.cut);
    this.markdown = new MarkdownView(this.text);
    this.markdown.append(block.text);
    this.markdown.render();
  }

  update(block, patch) {
    if (patch.append) this.markdown.append(patch.append);
    if (block.omitted) setText(this.cut, `… ${block.omitted.toLocaleString("en-US")} more characters left out …`);
  }

  settle() {
    this.markdown.settle();
  }

  rest() {}
}

/** A sentence about the run itself. */
class NoticePart {
  constructor(block) {
    this.el = h("div", { class: "rc-notice", text: block.text });
  }

  update() {}

  rest() {}
}

/** A tool call: one line, unfolding to arguments, result and differences. */
class CallPart {
  constructor(block) {
    this.name = h("span", { class: "rc-name", text: block.name });
    this.summary = h("span", { class: "rc-arg" });
    this.meta = h("span", { class: "rc-meta" });
    this.body = h("div", { class: "rc-call-body" });
    this.touched = this.rested = false;
    const line = h("summary", { onclick: () => (this.touched = true) }, this.name, this.summary, this.meta);
    this.el = h("details", { class: "rc-step" }, line, this.body);
    this.update(block);
  }

  update(block) {
    if (block.status === "running") this.since ??= performance.now();
    this.block = block;
    this.el.dataset.status = block.status;
    setText(this.summary, block.summary || (block.written ? `${countText(block.written, "character")} so far` : ""));
    this.summary.title = block.summary;
    this.tick();
    if (block.status === "writing") return;
    this.body.replaceChildren(...callBody(block));
    this.el.classList.toggle("rc-empty", !this.body.firstChild);
    this.fold();
  }

  /** Newer steps have come: fold, unless the person has a hand on it or it failed. */
  rest() {
    this.rested = true;
    this.fold();
  }

  fold() {
    const { block } = this;
    if (!this.touched) this.el.open = block.open && (!this.rested || block.status === "failed");
  }

  /** Show size, exit code and time; called again while the tool runs. */
  tick() {
    const { block } = this;
    const bits = [];
    if (block.exit !== null) bits.push(h("span", { class: block.exit ? "rc-bad" : "rc-ok", text: `exit ${block.exit}` }));
    else if (STATUS_WORDS[block.status]) {
      bits.push(h("span", { class: block.status === "failed" ? "rc-bad" : null, text: STATUS_WORDS[block.status] }));
    }
    if (block.added || block.removed) bits.push(countBits(block));
    if (block.note) bits.push(block.note);
    if (block.duration !== null) bits.push(secondsText(block.duration));
    else if (block.status === "running") bits.push(secondsText((performance.now() - this.since) / 1000));
    this.meta.replaceChildren(...bits.flatMap((bit, n) => (n ? [" · ", bit] : [bit])));
  }

  get running() {
    return this.block.status === "running";
  }
}

/** `+6 −1` in the colours of a difference. */
function countBits(counts) {
  return h(
    "span",
    { class: "rc-counts" },
    counts.added ? h("span", { class: "rc-added", text: counts.added }) : null,
    counts.added && counts.removed ? " " : null,
    counts.removed ? h("span", { class: "rc-removed", text: counts.removed }) : null,
  );
}

function callBody(block) {
  const nodes = [];
  if (block.trimmed) nodes.push(h("div", { class: "rc-meta", text: "Its texts are no longer kept: this run has very many calls." }));
  if (block.input) nodes.push(clipNode(block.input, "arguments of", block.name, "rc-input"));
  const shown = block.diffs.filter((diff) => diff.lines.length);
  nodes.push(...shown.map(diffNode));
  const said = shown.length > 0 && block.status === "done" && (block.name === "write" || block.name === "edit");
  if (block.result && !said) nodes.push(clipNode(block.result, "result of", block.name, ""));
  return nodes;
}

function clipNode(clip, what, name, extra) {
  const pre = h("pre", { class: extra, tabindex: 0, role: "group", "aria-label": `${what} ${name}` }, clip.head);
  if (clip.omitted) pre.append("\n", h("span", { class: "rc-cut", text: `… ${clip.omitted} …` }), "\n", clip.tail);
  return pre;
}

function diffNode(diff) {
  const word = { create: "new file", modify: "changed", delete: "deleted" }[diff.change] ?? diff.change;
  const lines = diff.lines.map((line) => {
    const kind = { "+": "rc-line-added", "-": "rc-line-removed", "@": "rc-line-head" }[line[0]] ?? "";
    return h("div", { class: kind, text: line || " " });
  });
  if (diff.omitted) lines.push(h("div", { class: "rc-line-head", text: `… ${countText(diff.omitted, "line")} left out …` }));
  const label = `difference of ${diff.path}`;
  return h("pre", { class: "rc-diff", tabindex: 0, role: "group", "aria-label": label }, h("div", { class: "rc-line-head" }, `${word} `, h("bdi", { text: diff.path })), ...lines);
}

/** The part for a block. */
function makePart(block) {
  if (block.kind === "call") return new CallPart(block);
  if (block.kind === "notice") return new NoticePart(block);
  return new TextPart(block);
}
