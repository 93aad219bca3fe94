// What Python tells a widget in numbered messages. Listening starts with the model, not with the first view: nothing
// is lost in between.

/** What the numbered messages add up to: `add` takes what is new, `replace` takes everything. */
class NumberedStore {
  constructor(model) {
    this.model = model;
    this.seq = 0;
    this.stale = true;
    this.views = new Set();
  }

  receive(message) {
    if (message.type === "whole") this.takeWhole(message);
    else if (message.type === "changes") this.takeChanges(message);
  }

  takeWhole(message) {
    if (!this.stale && message.seq === this.seq) return;
    this.stale = false;
    this.seq = message.seq;
    this.replace(message);
  }

  /** After a gap the whole is asked for; what comes before it is still taken, as far as it goes. */
  takeChanges(message) {
    if (message.seq <= this.seq) return;
    if (message.seq !== this.seq + 1 && !this.stale) this.resync();
    this.seq = message.seq;
    this.add(message);
  }

  resync() {
    this.stale = true;
    this.model.send({ type: "resync" });
  }
}

/** A widget: one store for a model, any number of panels that draw it. */
function widgetOf(Store, Panel) {
  let store;
  return {
    initialize({ model }) {
      store = new Store(model);
      model.on("msg:custom", (message, buffers) => store.receive(message, buffers));
      store.resync();
    },
    render({ el }) {
      const panel = new Panel(store, el);
      store.views.add(panel);
      return () => {
        store.views.delete(panel);
        panel.dispose();
      };
    },
  };
}
