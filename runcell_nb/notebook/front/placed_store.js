// A widget that is drawn in the HTML output that holds its static copy: the file browser, the thread browser.
//
// A display of the widget itself would leave a notebook that prints an error once the kernel is gone. So Python
// displays a copy with a mark, and here the mark is found in the page and the widget put in place of the copy.
// The copy in the notebook is brought up to date while nobody uses the widget.

const SETTLE = 1_500;

/** Draws one panel in each output that carries the mark of a model. */
class OutputPlaces {
  /** `make()` returns a new panel: `root`, `moved()`, `dispose()`. */
  constructor(place, make) {
    this.selector = `[data-runcell-place="${CSS.escape(place)}"]`;
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

  /** Take the panels away: the copies are seen again. */
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

/** Keeps the copy that stands in the notebook's outputs up to date: while nobody uses the widget, and when it is saved. */
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

  /** Something has changed: ask for a copy once it rests. */
  soon() {
    if (!this.context) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.model.send({ type: "static" }), SETTLE);
  }

  take(bundle) {
    this.bundle = bundle;
    this.rest();
  }

  /** Write the copy now or, while somebody uses the widget, later: it is drawn anew by that. */
  rest() {
    clearTimeout(this.resting);
    if (this.places.used) this.resting = setTimeout(() => this.rest(), SETTLE);
    else this.write();
  }

  /** Write the copy into the outputs that carry the mark. */
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

/** A store whose panels are drawn in the notebook's outputs; one that extends it takes what the messages add up to. */
class PlacedStore extends NumberedStore {
  /** `Panel` draws a store: `root`, `refresh()`, `receive(message, buffers)`, `moved()`, `kernelEnded()`, `dispose()`. */
  constructor(model, Panel) {
    super(model);
    this.Panel = Panel;
    this.head = null;
  }

  /** Draw the panels and ask for what they show. */
  start() {
    this.places = new OutputPlaces(this.model.get("place"), () => this.panel());
    this.copy = new StaticCopy(this.model, this.places);
    this.unwatch = onKernelEnd(this.model, () => this.kernelEnded());
    this.resync();
  }

  panel() {
    const panel = new this.Panel(this);
    this.views.add(panel);
    return panel;
  }

  receive(message, buffers) {
    super.receive(message);
    if (message.type === "static") this.copy.take(message.bundle);
    else for (const view of this.views) view.receive(message, buffers);
  }

  /** There is something new to show. */
  show(head) {
    this.head = head;
    for (const view of this.views) view.refresh();
    this.copy.soon();
  }

  kernelEnded() {
    this.copy.end();
    for (const view of this.views) view.kernelEnded();
  }

  end() {
    this.unwatch();
    this.copy.end();
    this.places.end();
  }
}

/** The widget of a store that is drawn in the notebook's outputs. */
function placedWidget(Store, Panel) {
  let store;
  return {
    initialize({ model }) {
      store = new Store(model, Panel);
      model.on("msg:custom", (message, buffers) => store.receive(message, buffers));
      store.start();
      return () => store.end();
    },
    // Only for places that show the widget itself: a container of widgets, or a page that our script cannot reach.
    render({ el }) {
      const panel = store.panel();
      el.append(panel.root);
      return () => panel.dispose();
    },
  };
}
