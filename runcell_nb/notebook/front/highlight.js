// Colours for code: comments, strings, numbers, words of the language. One pass, no nesting, any text.

const MAX_COLOURED_CHARS = 150_000;
const MAX_COLOURED_PIECES = 20_000;

const HASH_COMMENT = "#.*";
const SLASH_COMMENT = String.raw`\/\/.*|\/\*[^]*?(?:\*\/|$)`;
const QUOTED = String.raw`"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?`;
const TRIPLE = String.raw`"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)`;
const BACKTICK = "`(?:\\\\[^]|[^`\\\\])*`?";

const words = (text) => new Set(text.split(" "));
const PYTHON = words("and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield");
const CURLY = words("abstract async await bool boolean break case catch char class const continue default defer delete do double else enum export extends extern false final finally float fn for from func function go goto if impl implements import in instanceof int interface let long loop match mod mut namespace new nil null package private protected pub public return self short signed sizeof static string struct super switch template this throw true try type typedef typeof undefined union unsafe unsigned use using var void where while yield");
const SHELL = words("case cd do done echo elif else esac exit export fi for function if in local return set source then until while true false null");
const SQL = words("add all alter and as asc between by case create delete desc distinct drop else end exists from full group having in index inner insert into is join key left like limit not null on or order outer primary right select set table then union unique update values view when where with");

const PYTHON_LIKE = { comment: HASH_COMMENT, string: `${TRIPLE}|${QUOTED}`, words: PYTHON };
const CURLY_LIKE = { comment: SLASH_COMMENT, string: `${QUOTED}|${BACKTICK}`, words: CURLY };
const SHELL_LIKE = { comment: HASH_COMMENT, string: QUOTED, words: SHELL };
const TAGGED = { comment: "<!--[^]*?(?:-->|$)", string: QUOTED, word: String.raw`<\/?[A-Za-z][\w:-]*|\/?>` };
const LANGUAGES = {
  py: PYTHON_LIKE, pyi: PYTHON_LIKE, json: { comment: "(?!)", string: QUOTED, words: words("true false null") },
  js: CURLY_LIKE, mjs: CURLY_LIKE, ts: CURLY_LIKE, tsx: CURLY_LIKE, jsx: CURLY_LIKE, c: CURLY_LIKE, h: CURLY_LIKE, cpp: CURLY_LIKE, hpp: CURLY_LIKE, cs: CURLY_LIKE,
  java: CURLY_LIKE, go: CURLY_LIKE, rs: CURLY_LIKE, kt: CURLY_LIKE, swift: CURLY_LIKE, php: CURLY_LIKE, css: { ...CURLY_LIKE, comment: String.raw`\/\*[^]*?(?:\*\/|$)` },
  sh: SHELL_LIKE, bash: SHELL_LIKE, zsh: SHELL_LIKE, yaml: SHELL_LIKE, yml: SHELL_LIKE, toml: SHELL_LIKE, ini: SHELL_LIKE, cfg: SHELL_LIKE, r: SHELL_LIKE, rb: SHELL_LIKE, mk: SHELL_LIKE,
  sql: { comment: String.raw`--.*|\/\*[^]*?(?:\*\/|$)`, string: QUOTED, words: SQL, anyCase: true },
  html: TAGGED, htm: TAGGED, xml: TAGGED, svg: TAGGED,
  md: { comment: "^>.*", string: "`[^`\\n]+`", word: "^#{1,6} .*" },
};

/** The language of a path by its ending, null for plain text. */
function languageOf(path) {
  return LANGUAGES[/\.(\w+)$/.exec(path)?.[1].toLowerCase()] ?? null;
}

/** Nodes for a text: spans where it has a colour. What is beyond the limits stays plain. */
function coloured(text, language) {
  if (!language) return [text];
  language.pattern ??= new RegExp(`(?<c>${language.comment})|(?<s>${language.string})|(?<n>\\b\\d[\\w.]*)|(?<w>${language.word ?? "[A-Za-z_$][\\w$]*"})`, "gm");
  const nodes = [];
  let done = 0;
  for (const found of text.slice(0, MAX_COLOURED_CHARS).matchAll(language.pattern)) {
    const kind = kindOf(found, language);
    if (!kind) continue;
    if (nodes.length > MAX_COLOURED_PIECES) break;
    nodes.push(text.slice(done, found.index), h("span", { class: `rc-${kind}`, text: found[0] }));
    done = found.index + found[0].length;
  }
  nodes.push(text.slice(done));
  return nodes;
}

function kindOf({ groups, 0: text }, language) {
  if (groups.c !== undefined) return text && "comment";
  if (groups.s !== undefined) return "string";
  if (groups.n !== undefined) return "number";
  return !language.words || language.words.has(language.anyCase ? text.toLowerCase() : text) ? "keyword" : null;
}
