// Requests to Python that are answered, and files that go up and come down in parts.

const PART_BYTES = 1_000_000;
const PATIENCE = 8_000;

/** Sends requests with a number and gives each answer to the one who asked. */
class Requests {
  /** `onSlow()` is called when an answer takes long: the kernel is busy, or gone. */
  constructor(model, onSlow) {
    this.model = model;
    this.onSlow = onSlow;
    this.own = Math.random().toString(36).slice(2);
    this.count = 0;
    this.waiting = new Map();
  }

  newKey() {
    this.count += 1;
    return `${this.own}-${this.count}`;
  }

  /** Ask Python; the answer may hold a `problem`. `pieces` is filled with what a download brings. */
  ask(request, buffer = null, pieces = []) {
    const id = this.newKey();
    const slow = setTimeout(() => this.onSlow(), PATIENCE);
    return new Promise((resolve) => {
      this.waiting.set(id, { resolve, pieces, slow });
      this.model.send({ ...request, id }, undefined, buffer ? [buffer] : []);
    });
  }

  receive(message, buffers) {
    const asked = this.waiting.get(message.id);
    if (!asked) return;
    if (message.type === "piece") asked.pieces.push(buffers[0]);
    else if (message.type === "answer") {
      clearTimeout(asked.slow);
      this.waiting.delete(message.id);
      asked.resolve(message);
    }
  }

  /** Nobody will answer any more. */
  end() {
    for (const { resolve, slow } of this.waiting.values()) {
      clearTimeout(slow);
      resolve({ problem: "The kernel has ended." });
    }
    this.waiting.clear();
  }
}

/** Bring a file, or a folder as a zip, to the person's disk. Returns the answer of Python. */
async function download(requests, path, root) {
  const pieces = [];
  const answer = await requests.ask({ type: "download", path }, null, pieces);
  if (answer.problem) return answer;
  const url = URL.createObjectURL(new Blob(pieces, { type: "application/octet-stream" }));
  const link = h("a", { href: url, download: plainName(answer.name).replaceAll("\\", "_"), hidden: true });
  root.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
  return answer;
}

/** Files on their way up, one after the other. */
class UploadQueue {
  /** `ask(text, choices)` puts a question, `tell(text)` tells how far it is. */
  constructor(requests, ask, tell) {
    this.requests = requests;
    this.ask = ask;
    this.tell = tell;
  }

  /** Upload files into a folder. Returns the paths they got and what went wrong. */
  async run(files, folder) {
    const done = [];
    const problems = [];
    this.always = null;
    this.stopped = false;
    for (const [n, file] of files.entries()) {
      if (this.stopped) break;
      const nth = files.length > 1 ? ` (${n + 1} of ${files.length})` : "";
      const answer = await this.one(file, pathIn(folder, file.name.replaceAll("\\", "_")), nth, files.length - n - 1);
      if (answer.problem) problems.push(answer.problem);
      else if (answer.path) done.push(answer.path);
    }
    return { done, problems };
  }

  stop() {
    this.stopped = true;
  }

  async one(file, path, nth, more) {
    const begun = await this.begin(file, path, more);
    let { answer } = begun;
    for (let at = 0; answer.state === "more"; at += PART_BYTES) {
      if (this.stopped) {
        void this.requests.ask({ type: "cancel", key: begun.key });
        return {};
      }
      this.tell(`Uploading ${plainName(file.name)}${nth}: ${bytesText(at)} of ${bytesText(file.size)}`);
      const part = await readPart(file, at);
      answer = part ? await this.requests.ask({ type: "part", key: begun.key }, part) : { problem: `${plainName(file.name)} cannot be read.` };
    }
    return answer;
  }

  async begin(file, path, more) {
    const key = this.requests.newKey();
    const start = (clash) => this.requests.ask({ type: "upload", key, path, size: file.size, clash });
    let answer = await start(this.always ?? "ask");
    if (answer.state === "clash") {
      const how = await this.clash(answer, more);
      answer = how ? await start(how) : {};
    }
    return { key, answer };
  }

  /** Ask what to do with a name that is taken: 'replace', 'both', or null to leave it. */
  async clash({ path, free }, more) {
    const choices = [
      { value: "both", label: `Keep both (as ${plainName(free.slice(free.lastIndexOf("/") + 1))})` },
      { value: "replace", label: "Replace", danger: true },
      { value: "skip", label: "Skip" },
    ];
    if (more) choices.push({ value: "both all", label: "Keep both for all" }, { value: "replace all", label: "Replace all", danger: true });
    const answer = await this.ask(`There is a file ${plainName(path)} already.`, choices);
    if (!answer) this.stopped = true;
    if (!answer || answer.choice === "skip") return null;
    const [how, all] = answer.choice.split(" ");
    if (all) this.always = how;
    return how;
  }
}

/** A part of a file, null when it cannot be read: a folder, or gone. */
async function readPart(file, at) {
  try {
    return await file.slice(at, at + PART_BYTES).arrayBuffer();
  } catch {
    return null;
  }
}
