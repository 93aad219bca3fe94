// A window on something that grows at its end: it follows the end until a person looks at something else.

const AT_END = 24;

/** A scrolling part of the page, and a button that leads back to its end. */
class FollowingWindow {
  constructor(label, ...content) {
    this.following = true;
    this.track = h("div", {}, ...content);
    this.body = h("div", { class: "rc-body", role: "log", "aria-live": "off", "aria-label": label, tabindex: 0 }, this.track);
    this.jump = h("button", { type: "button", class: "rc-jump", text: "Jump to end", hidden: true, onclick: () => this.toEnd() });
    this.el = h("div", { class: "rc-window" }, this.body, this.jump);
    this.body.addEventListener("scroll", () => this.scrolled());
    // What a person unfolds is not to run away.
    this.body.addEventListener("click", (event) => event.target.closest("summary") && this.stay());
    this.grown = new ResizeObserver(() => this.keepUp());
    this.grown.observe(this.track);
    this.grown.observe(this.body);
  }

  get below() {
    return this.body.scrollHeight - this.body.clientHeight - this.body.scrollTop;
  }

  /** Somebody scrolled, or the content did: only who goes up, while nothing was taken away, looks at something else. */
  scrolled() {
    const { scrollTop, scrollHeight } = this.body;
    if (this.below < AT_END) this.following = true;
    else if (scrollTop < this.top && scrollHeight >= this.height) this.following = false;
    this.note();
  }

  keepUp() {
    if (this.following) this.body.scrollTop = this.body.scrollHeight;
    this.note();
  }

  note() {
    this.top = this.body.scrollTop;
    this.height = this.body.scrollHeight;
    this.body.classList.toggle("rc-following", this.following);
    this.jump.hidden = this.following || this.below < AT_END;
  }

  /** Follow the end no longer. */
  stay() {
    this.following = false;
    this.note();
  }

  toEnd() {
    this.following = true;
    this.keepUp();
    this.body.focus({ preventScroll: true });
  }

  dispose() {
    this.grown.disconnect();
  }
}
