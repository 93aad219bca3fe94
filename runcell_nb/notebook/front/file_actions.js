// What a person does to files: each asks what it needs to know, then asks Python, then tells how it went.

/** The actions of one panel. */
class FileActions {
  /** `panel` has `requests`, `ask`, `tell`, `complain`, `goTo(path, folder)`, `root` and `tree`. */
  constructor(panel) {
    this.panel = panel;
    this.queue = new UploadQueue(panel.requests, (text, choices) => panel.ask({ text, choices }), (text) => panel.tell(text, () => this.queue.stop()));
  }

  async make(folder) {
    const answer = await this.panel.ask({ text: "Name of the new file", field: { value: folder ? `${folder}/` : "", select: [1e4, 1e4] }, choices: [{ value: "make", label: "Create" }] });
    if (answer?.text) await this.done(await this.panel.requests.ask({ type: "new", path: answer.text }));
  }

  async rename({ path, folder, mark }) {
    if (mark === "D") return;
    const start = path.lastIndexOf("/") + 1;
    const dot = path.lastIndexOf(".");
    const select = [start, folder || dot <= start ? path.length : dot];
    const answer = await this.panel.ask({ text: `New name of ${plainName(path)}`, field: { value: path, select }, choices: [{ value: "rename", label: "Rename" }] });
    if (answer?.text && answer.text !== path) await this.done(await this.panel.requests.ask({ type: "rename", path, to: answer.text }), folder);
  }

  async remove({ path, folder, total, mark }) {
    if (mark === "D") return;
    const text = folder ? `Delete the folder ${plainName(path)} and the ${countText(total, "file")} in it?` : `Delete ${plainName(path)}?`;
    const answer = await this.panel.ask({ text: `${text} This cannot be undone.`, choices: [{ value: "delete", label: "Delete", danger: true }], careful: true });
    if (answer) await this.done(await this.panel.requests.ask({ type: "delete", path }));
  }

  async download(path) {
    this.panel.tell("Downloading…");
    await this.done(await download(this.panel.requests, path, this.panel.root));
  }

  async extract(path) {
    this.panel.tell(`Extracting ${plainName(path)}…`);
    await this.done(await this.panel.requests.ask({ type: "extract", path }), true);
  }

  async upload(files, folder) {
    if (!files.length) return;
    if (this.uploading) return this.panel.complain("An upload is under way; wait for its end.");
    this.uploading = true;
    const { done, problems } = await this.queue.run(files, folder);
    this.uploading = false;
    const into = folder ? ` into ${plainName(folder)}` : "";
    this.panel.tell(done.length === 1 ? `Uploaded ${plainName(done[0])}.` : `Uploaded ${countText(done.length, "file")}${into}.`);
    if (problems.length) this.panel.complain(problems.slice(0, 3).join(" ") + (problems.length > 3 ? ` And ${problems.length - 3} more.` : ""));
    if (done.length) this.panel.goTo(done[0], false);
  }

  done(answer, folder = false) {
    this.panel.tell(answer.said ?? "");
    if (answer.problem) this.panel.complain(answer.problem);
    else if (answer.path) this.panel.goTo(answer.path, folder);
  }
}

/** Files of a drop; folders are told, for a browser gives them as files that cannot be read. */
function droppedFiles(transfer) {
  const items = [...(transfer.items ?? [])].filter((item) => item.kind === "file");
  const folders = items.map((item) => item.webkitGetAsEntry?.()).filter((entry) => entry?.isDirectory);
  const names = new Set(folders.map((entry) => entry.name));
  return { files: [...transfer.files].filter((file) => !names.has(file.name)), folders: [...names] };
}
