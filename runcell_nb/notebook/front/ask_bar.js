// A question in the widget: a sentence, sometimes a field, and buttons. Nothing else is blocked while it waits.

/** One question at a time; the answer is a promise. */
class AskBar {
  /** `onDone()` is called after each question, to put the focus back. */
  constructor(onDone) {
    this.onDone = onDone;
    this.el = h("div", { class: "rc-ask", role: "dialog", hidden: true });
    this.el.addEventListener("keydown", (event) => {
      event.stopPropagation(); // a key that is meant for this question is no command of the notebook
      if (event.key === "Escape") this.finish(null);
      else if (event.key === "Enter" && event.target === this.input) this.finish(this.first);
      else return;
      event.preventDefault();
    });
  }

  /**
   * Ask.
   *
   * `choices` are `{ value, label, danger }`; the first is what Enter in the field means. `field` is
   * `{ value, select: [from, to] }` for a text. Resolves to `{ choice, text }`, to null when it was cancelled. With
   * `careful` the focus waits on Cancel, so that Enter does no harm.
   */
  ask({ text, choices, field = null, careful = false }) {
    this.finish(null);
    this.first = choices[0].value;
    this.input = field && h("input", { type: "text", value: field.value, "aria-label": text, spellcheck: "false", autocomplete: "off" });
    const buttons = choices.map(({ value, label, danger }) => h("button", { type: "button", class: danger ? "rc-danger" : null, text: label, onclick: () => this.finish(value) }));
    const cancel = h("button", { type: "button", text: "Cancel", onclick: () => this.finish(null) });
    this.el.setAttribute("aria-label", text);
    this.el.replaceChildren(h("span", { class: "rc-question", text }), ...(this.input ? [this.input] : []), h("span", { class: "rc-buttons" }, ...buttons, cancel));
    this.el.hidden = false;
    (this.input ?? (careful ? cancel : buttons[0])).focus();
    if (this.input) this.input.setSelectionRange(...(field.select ?? [0, field.value.length]));
    return new Promise((resolve) => (this.resolve = resolve));
  }

  finish(choice) {
    const { resolve } = this;
    if (!resolve) return;
    this.resolve = null;
    const held = this.el.contains(document.activeElement);
    this.el.hidden = true;
    if (held) this.onDone();
    resolve(choice === null ? null : { choice, text: this.input?.value.trim() ?? "" });
  }
}
