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

/** Keeps the listing that stands in the notebook's outputs up to date. */
class StaticCopy {
  constructor(model, places) {
    this.model = model;
    this.places = places;
    this.context = model.widget_manager?.context;
  }

  /** Files have changed: ask for a listing once they rest and nobody is at work in the browser. */
  soon() {
    // Elsewhere the context is a dummy without a notebook.
    if (typeof this.context?.path !== "string" || !this.context.path) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.places.used ? this.soon() : this.model.send({ type: "static" })), SETTLE);
  }

  /** Write a listing into the outputs that carry the mark. */
  take(bundle) {
    if (this.places.used) return this.soon();
    const mark = this.model.get("place");
    for (const output of outputsOf(this.context?.model)) {
      const html = String(output.data["text/html"] ?? "");
      if (html.includes(mark) && html !== bundle["text/html"]) output.setData({ data: { ...output.data, ...bundle } });
    }
  }

  end() {
    clearTimeout(this.timer);
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
