// Puts the kept state into the metadata of the notebook; headless runs store this text, so it is short.
const KEY = "runcell";
const TURN_MS = 4000; // for the client that ran the cell; then another one asks
const SAVE_MS = 5000; // the longest wait for a save that somebody else has started
// The number by which the kernel knows metadata; the same there.
const revisionOf = (state) =>
  Number.isSafeInteger(state?.revision) && state.revision >= 0 ? state.revision : 0;
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

class Keeper {
  constructor(model, context) {
    this.model = model;
    this.context = context;
    this.saveStarted = -Infinity;
    this.saved = 0;
  }

  client() {
    return this.context.sessionContext.session?.kernel?.clientId;
  }

  mine() {
    return Boolean(this.client()) && this.client() === this.model.get("writer");
  }

  /** A kernel can be shared by notebooks. */
  hasCell() {
    const id = this.model.get("cell");
    return this.context.model.sharedModel.cells.some((cell) => cell.id === id);
  }

  kept() {
    return this.context.model.getMetadata(KEY);
  }

  isNews() {
    const { revision } = this.model.get("state");
    return revision > 0 && revisionOf(this.kept()) !== revision;
  }

  /** Tell the kernel what its state would replace, if it has not seen that: it takes it in and keeps again. */
  tell() {
    const kept = this.kept();
    if (kept === undefined || this.model.get("seen").includes(revisionOf(kept))) return false;
    if (this.told !== revisionOf(kept)) this.model.send({ type: "held", state: kept });
    this.told = revisionOf(kept);
    return true;
  }

  async write() {
    if (!this.isNews()) return;
    if (this.mine()) {
      if (this.tell()) return;
      this.context.model.setMetadata(KEY, this.model.get("state"));
      await this.save();
    } else if (this.hasCell()) {
      await wait(TURN_MS);
      if (this.isNews() && !this.mine()) this.model.send({ type: "may write", client: this.client() });
    }
  }

  async save() {
    if (this.saving) return;
    this.saving = true;
    try {
      while (revisionOf(this.kept()) !== this.saved) {
        while (performance.now() - this.saveStarted < SAVE_MS) await wait(50);
        const revision = revisionOf(this.kept());
        if (this.context.canSave ?? this.context.contentsModel?.writable) await saveAlone(this.context);
        // "Revert", in the question about a file that others changed, took the file's: the turns stay.
        if (revisionOf(this.kept()) < revision) {
          if (this.tell()) return;
          this.context.model.setMetadata(KEY, this.model.get("state"));
          continue;
        }
        this.saved = revision;
        this.model.send({ type: "kept", revision });
      }
    } catch {
      // The user has been told why; the metadata stay in the page, and the next state tries again.
    } finally {
      this.saving = false;
    }
  }

  async answer() {
    const question = this.model.get("question");
    if (!question) return;
    if (!this.mine()) {
      if (!this.hasCell()) return;
      await wait(200);
      if (this.model.get("question") !== question) return;
    }
    this.model.send({ type: "answer", state: this.kept() ?? null });
  }
}

/** Two saves at once: the notebook takes one for a change by others and asks the user. What else saves waits. */
async function saveAlone(context) {
  const own = Object.getOwnPropertyDescriptor(context, "save");
  const { save } = context;
  const ours = save.call(context);
  const later = () => ours.catch(() => {}).then(() => save.call(context));
  context.save = later;
  try {
    await ours;
  } finally {
    if (context.save === later) own ? Object.defineProperty(context, "save", own) : delete context.save;
  }
}

export default {
  async initialize({ model }) {
    const context = model.widget_manager?.context;
    // Elsewhere it is a dummy that would lose the state without a word.
    if (typeof context?.path !== "string" || !context.path) return;
    await context.ready;
    const keeper = new Keeper(model, context);
    const watch = (_, phase) => {
      keeper.saveStarted = phase === "started" ? performance.now() : -Infinity;
    };
    context.saveState.connect(watch);
    model.on("change:state", () => keeper.write());
    model.on("change:writer", () => keeper.write());
    model.on("change:question", () => keeper.answer());
    keeper.write();
    keeper.answer();
    return () => context.saveState.disconnect(watch);
  },
};
