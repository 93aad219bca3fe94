// Where the browser is drawn: in the HTML output that holds its static listing.
//
// A display of the widget itself would leave a notebook that prints an error once the kernel is gone. So Python
// displays a listing with a mark, and here the mark is found in the page and the browser put in place of the listing.
// The listing in the notebook is brought up to date while nobody uses the browser.

const SETTLE = 1_500;

/** Draws one panel in each output that carries the mark of a model. */
class OutputPlaces {
  /** `make()` returns a new panel: `root`, `moved()`, `dispose()`. */
  constructor(place, make) {
    this.selector = `[data-runcell-files="${CSS.escape(place)}"]`;
    this.make = make;
    this.panels = new Map();
    this.observer = new MutationObserver(() => this.look());
    this.observer.observe(document.body, { childList: true, subtree: true });
    this.look();
  }

  /** Put a panel into each place; one whose place was drawn anew moves there. */
  look() {
    for (const place of document.querySelectorAll(this.selector)) {
      if (this.panels.has(place)) continue;
      const orphan = [...this.panels].find(([old]) => !old.isConnected);
      if (orphan) this.panels.delete(orphan[0]);
      const panel = orphan ? orphan[1] : this.make();
      this.panels.set(place, panel);
      for (const child of place.children) child.hidden = true;
      place.append(panel.root);
      panel.moved();
    }
  }

  /** Take the panels away: the listings are seen again. */
  end() {
    this.observer.disconnect();
    for (const [place, panel] of this.panels) {
      panel.dispose();
      panel.root.remove();
      for (const child of place.children) child.hidden = false;
    }
    this.panels.clear();
  }

  get used() {
    return [...this.panels.values()].some((panel) => panel.root.contains(document.activeElement));
  }
}

/** Keeps the listing that stands in the notebook's outputs up to date: while nobody uses the browser, and when it is saved. */
class StaticCopy {
  constructor(model, places) {
    this.model = model;
    this.places = places;
    const { context } = model.widget_manager ?? {};
    // Elsewhere the context is a dummy without a notebook.
    this.context = typeof context?.path === "string" && context.path ? context : null;
    this.saving = (_, state) => state === "started" && this.write();
    this.context?.saveState?.connect(this.saving);
  }

  /** Files have changed: ask for a listing once they rest. */
  soon() {
    if (!this.context) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.model.send({ type: "static" }), SETTLE);
  }

  take(bundle) {
    this.bundle = bundle;
    this.rest();
  }

  /** Write the listing now or, while somebody uses the browser, later: it is drawn anew by that. */
  rest() {
    clearTimeout(this.resting);
    if (this.places.used) this.resting = setTimeout(() => this.rest(), SETTLE);
    else this.write();
  }

  /** Write the listing into the outputs that carry the mark. */
  write() {
    if (!this.bundle) return;
    const held = this.places.used ? document.activeElement : null;
    for (const output of outputsOf(this.context.model)) {
      const html = String(output.data["text/html"] ?? "");
      if (!html.includes(this.model.get("place")) || html === this.bundle["text/html"]) continue;
      output.setData({ data: { ...output.data, ...this.bundle } });
    }
    this.bundle = null;
    if (held) requestAnimationFrame(() => held.isConnected && held.focus({ preventScroll: true }));
  }

  end() {
    clearTimeout(this.timer);
    clearTimeout(this.resting);
    this.context?.saveState?.disconnect(this.saving);
  }
}

function* outputsOf(notebook) {
  const count = notebook?.cells?.length ?? 0;
  for (let at = 0; at < count; at += 1) {
    const { outputs } = notebook.cells.get(at);
    for (let n = 0; n < (outputs?.length ?? 0); n += 1) yield outputs.get(n);
  }
}

/** Call when the kernel has ended or begins anew: the model is dead then, though the page still shows it. Returns the undoing. */
function onKernelEnd(model, call) {
  const session = model.widget_manager?.context?.sessionContext;
  const status = (_, name) => ["restarting", "autorestarting", "terminating", "dead"].includes(name) && call();
  const changed = (_, change) => change?.oldValue && change.newValue?.id !== change.oldValue.id && call();
  model.on("comm_live_update", call);
  session?.statusChanged?.connect(status);
  session?.kernelChanged?.connect(changed);
  return () => {
    session?.statusChanged?.disconnect(status);
    session?.kernelChanged?.disconnect(changed);
  };
}
