// The parts of the thread browser: the list of threads, and one turn of the thread that is looked at.

const TURNS_OPEN = 10;
const LAST_OPEN = 3;

const joined = (...parts) => parts.filter(Boolean).join(" · ");

/** The list of threads: a listbox, moved through with the arrow keys. */
class ThreadList {
  /** `on.choose(key)`, `on.rename()` and `on.remove()` are called for what a person does. */
  constructor(on) {
    this.on = on;
    this.own = `rc-${Math.random().toString(36).slice(2)}`;
    this.el = h("div", { class: "rc-list", role: "listbox", tabindex: "0", "aria-label": "Threads", onkeydown: (event) => this.press(event) });
  }

  show(rows, chosen) {
    this.rows = rows;
    this.at = rows.findIndex((row) => row.key === chosen);
    this.el.replaceChildren(...rows.map((row, index) => this.option(row, index)));
    if (this.at < 0) return this.el.removeAttribute("aria-activedescendant");
    this.el.setAttribute("aria-activedescendant", `${this.own}-${this.at}`);
    const option = this.el.children[this.at];
    const { offsetTop: top, offsetHeight: height } = option;
    if (top < this.el.scrollTop || top + height > this.el.scrollTop + this.el.clientHeight) this.el.scrollTop = top;
  }

  option(row, index) {
    const name = h("div", { class: "rc-thread" }, h("bdi", { text: row.name }), row.active ? h("span", { class: "rc-active", text: "active" }) : null);
    const about = [joined(countText(row.count, "turn"), row.figures), row.origin].filter(Boolean);
    return h(
      "div",
      { class: "rc-item", role: "option", id: `${this.own}-${index}`, "aria-selected": String(index === this.at), onclick: () => this.choose(index) },
      name,
      ...about.map((text) => h("div", { class: "rc-about", text })),
    );
  }

  choose(index) {
    this.el.focus({ preventScroll: true });
    if (index !== this.at) this.on.choose(this.rows[index].key);
  }

  press(event) {
    const last = (this.rows?.length ?? 0) - 1;
    const moves = { ArrowDown: Math.min(this.at + 1, last), ArrowUp: Math.max(this.at - 1, 0), Home: 0, End: last };
    if (event.ctrlKey || event.metaKey || event.altKey || last < 0) return;
    if (event.key in moves) this.choose(moves[event.key]);
    else if (event.key === "F2") this.on.rename();
    else if (event.key === "Delete") this.on.remove();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  focus() {
    this.el.focus({ preventScroll: true });
  }
}

/** Whether a turn is unfolded before anybody has touched it: all of a short thread, the last ones of a long one. */
function opensAtFirst(turn, count) {
  return count <= TURNS_OPEN || turn.number > count - LAST_OPEN;
}

/** One turn. `on` has `fold(turn, open)`, `fork(turn)`, `rewind(turn)`, `choose(key)`; the last is for other threads. */
function turnElement(turn, { open, editable, on }) {
  const body = h("div", { class: "rc-said", hidden: !open });
  const fill = () => body.childElementCount || body.append(...turnContent(turn));
  if (open) fill();
  const first = turn.prompt.trimStart().split("\n", 1)[0].slice(0, 200);
  const title = h("button", { type: "button", class: "rc-title", "aria-expanded": String(open), "data-at": `fold-${turn.number}` }, h("b", { text: `Turn ${turn.number}` }), h("bdi", { text: first }));
  title.addEventListener("click", () => {
    const now = body.hidden;
    if (now) fill();
    body.hidden = !now;
    title.setAttribute("aria-expanded", String(now));
    on.fold(turn, now);
  });
  const button = (type, text, tip) => h("button", { type: "button", text, title: tip, "aria-label": `${text} after turn ${turn.number}`, "data-at": `${type}-${turn.number}`, onclick: () => on[type](turn) });
  const buttons =
    editable && turn.keep !== null
      ? h("span", { class: "rc-buttons" }, button("fork", "Fork here", "A new thread that ends after this turn"), turn.last ? null : button("rewind", "Rewind to here", "Cut this thread after this turn; the later turns stay as a fork"))
      : null;
  const head = h("div", { class: "rc-tophead" }, title, h("span", { class: "rc-about", text: joined(turn.model, turn.figures) }), buttons);
  const forks = turn.forks.map((fork) => forkPoint(fork, turn, on));
  return h("div", { class: "rc-turn", role: "group", "aria-label": `Turn ${turn.number}` }, head, body, ...forks);
}

function turnContent(turn) {
  const answer = h("div", { class: "rc-text" });
  answer.append(...mdBlocks(turn.answer.split("\n"), 0));
  const data = turn.data === null ? [] : [h("pre", { class: "rc-data", tabindex: "0", "aria-label": "Structured result", text: turn.data })];
  return [h("div", { class: "rc-prompt", text: turn.prompt }), answer, ...data];
}

function forkPoint(fork, turn, on) {
  const how = fork.more ? `goes on with ${countText(fork.more, "turn")} of its own.` : "ends here.";
  const link = h("button", { type: "button", class: "rc-link", "data-at": `point-${turn.number}-${fork.key}`, onclick: () => on.choose(fork.key) }, h("bdi", { text: fork.name }));
  return h("div", { class: "rc-point" }, "Fork point: ", link, ` ${how}`);
}
