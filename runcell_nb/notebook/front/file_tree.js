// The files of a workspace as folders, and the rows that are to be seen of them.

const OPEN_WHEN_FEWER = 40;

/** Paths with sizes and marks, as folders and files. */
class FileTree {
  constructor() {
    this.files = new Map();
    this.open = new Set();
    this.fresh = true;
  }

  set(files) {
    for (const [path, size, mark] of files) {
      if (this.files.has(path)) Object.assign(this.files.get(path), { size, mark });
      else {
        this.files.set(path, { size, mark });
        this.root = null;
      }
    }
    this.marked = false;
  }

  remove(paths) {
    for (const path of paths) this.files.delete(path);
    if (paths.length) this.root = null;
  }

  /** Whether there is a file of this path that is not deleted. */
  has(path) {
    return this.files.has(path) && this.files.get(path).mark !== "D";
  }

  /** The rows that are to be seen, top to bottom. */
  rows() {
    this.root ??= this.build();
    if (!this.marked) this.markFolders(this.root);
    this.marked = true;
    const rows = [];
    this.collect(this.root, "", 1, rows);
    return rows;
  }

  build() {
    this.marked = false;
    const root = newFolder();
    for (const path of [...this.files.keys()].sort()) this.place(root, path);
    if (this.fresh && this.files.size) {
      this.fresh = false;
      if (this.files.size < OPEN_WHEN_FEWER) for (const path of this.files.keys()) this.reveal(path);
    }
    return root;
  }

  place(root, path) {
    const parts = path.split("/");
    const name = parts.pop();
    let folder = root;
    for (const part of parts) {
      if (!folder.folders.has(part)) folder.folders.set(part, newFolder());
      folder = folder.folders.get(part);
    }
    folder.files.push({ name, path, entry: this.files.get(path) });
  }

  /** Tell each folder whether something in it has changed, how many files it has and how large they are. */
  markFolders(folder) {
    folder.mark = "";
    folder.size = folder.total = 0;
    for (const inner of folder.folders.values()) {
      this.markFolders(inner);
      folder.size += inner.size;
      folder.total += inner.total;
      if (inner.mark) folder.mark = "•";
    }
    for (const { entry } of folder.files) {
      if (entry.mark) folder.mark = "•";
      if (entry.mark === "D") continue;
      folder.size += entry.size;
      folder.total += 1;
    }
  }

  collect(folder, prefix, level, rows) {
    const count = folder.folders.size + folder.files.length;
    let position = 0;
    for (const [name, inner] of folder.folders) {
      const path = prefix + name;
      const open = this.open.has(path);
      position += 1;
      const { size, total } = inner;
      rows.push({ folder: true, open, name, path, level, position, count, size, total, mark: open ? "" : inner.mark });
      if (open) this.collect(inner, path + "/", level + 1, rows);
    }
    for (const { name, path, entry } of folder.files) {
      position += 1;
      rows.push({ folder: false, name, path, level, position, count, size: entry.size, mark: entry.mark });
    }
  }

  /** Open the folders above a path. */
  reveal(path) {
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) this.open.add(path.slice(0, at));
  }

  toggle(path, open) {
    if (open) this.open.add(path);
    else this.open.delete(path);
  }
}

function newFolder() {
  return { folders: new Map(), files: [], mark: "", size: 0, total: 0 };
}

/** The folder of a path, "" for the workspace. */
function folderOf(path) {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** A path in a folder, "" being the workspace. */
function pathIn(folder, name) {
  return folder ? `${folder}/${name}` : name;
}

/** A name without characters that hide or turn what follows. */
function plainName(name) {
  // eslint-disable-next-line no-control-regex
  const hidden = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
  return name.replace(hidden, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
