/** The colors of code, good enough to read by: comments, strings, numbers, keywords and the names of calls. Pure. */

export type Kind = "comment" | "string" | "number" | "keyword" | "call" | "added" | "removed" | "plain";

export interface Piece {
  kind: Kind;
  text: string;
}

/** Longer code stays plain. */
const LONGEST = 60_000;

interface Family {
  comments: string;
  strings: string;
  keywords: string;
  /** Keywords in capitals are keywords, too. */
  anyCase?: boolean;
  /** What else has a color. */
  others?: [kind: Kind, pattern: string][];
}

const QUOTED = String.raw`"(?:[^"\\\n]|\\[^])*(?:"|$)|'(?:[^'\\\n]|\\[^])*(?:'|$)`;
const TICKED = String.raw`\x60(?:[^\x60\\]|\\[^])*(?:\x60|$)`;
const SLASHES = String.raw`\/\/.*|\/\*[^]*?(?:\*\/|$)`;
const HASH = "#.*";

const FAMILIES: Record<string, Family> = {
  script: {
    comments: SLASHES,
    strings: `${TICKED}|${QUOTED}`,
    keywords:
      "abstract any as async await bigint boolean break case catch class const constructor continue debugger declare default delete do else enum export extends false finally for from function get if implements import in infer instanceof interface is keyof let namespace never new null number object of private protected public readonly return satisfies set static string super switch symbol this throw true try type typeof undefined unknown var void while with yield",
  },
  c: {
    comments: SLASHES,
    strings: `${TICKED}|${QUOTED}`,
    keywords:
      "abstract alignas alignof as async auto await base bool boolean break byte case catch chan char class const constexpr continue crate decltype def default defer delete do double else elif endif enum explicit export extends extern false final finally float fn for foreach friend func fun go goto guard if impl implements import in include inline init instanceof int interface internal is lambda let long loop map match mod move mut namespace native new nil noexcept null nullptr object operator out override package panic part private protected pub public range ref register return sealed select self short signed sizeof static str string struct super switch synchronized template this throw throws trait true try type typedef typename union unsafe unsigned use using val var virtual void volatile when where while yield",
  },
  python: {
    comments: HASH,
    strings: String.raw`[rbuf]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|${QUOTED})`,
    keywords:
      "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return self try type while with yield",
  },
  shell: {
    comments: String.raw`(?<![^\s;&|(])#.*`,
    strings: String.raw`"(?:[^"\\]|\\[^])*(?:"|$)|'[^']*(?:'|$)`,
    keywords:
      "case cd do done echo elif else esac exit export fi for function if in local read return set shift source then trap unset until while",
    others: [
      // The program that a line, or a part of it, runs; its options; variables.
      ["call", String.raw`(?=[A-Za-z_.\/~])(?<=(?<![^\n])[ \t]{0,40}(?:[$%] )?|[|;&(][ \t]{0,9})[\w.\/~+-]+(?=\s|[;|&)]|$)`],
      ["number", String.raw`(?<=\s)--?[A-Za-z][\w-]*|\$(?:\w+|\{\w+\}?|[?#@*!$])`],
    ],
  },
  sql: {
    comments: String.raw`--.*|\/\*[^]*?(?:\*\/|$)`,
    strings: QUOTED,
    anyCase: true,
    keywords:
      "add all alter and as asc begin between by case check column commit constraint create cross default delete desc distinct drop else end exists false foreign from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references returning right rollback select set table then true union unique update using values view when where with",
  },
  lua: {
    comments: String.raw`--\[\[[^]*?(?:\]\]|$)|--.*`,
    strings: String.raw`\[\[[^]*?(?:\]\]|$)|${QUOTED}`,
    keywords:
      "and break do else elseif end false for function goto if in local nil not or repeat require return self then true until while",
  },
  ruby: {
    comments: HASH,
    strings: QUOTED,
    keywords:
      "alias and attr_accessor attr_reader begin break case class def do else elsif end ensure extend false for if in include module next nil not or private raise redo require rescue retry return self super then true undef unless until when while yield",
  },
  data: { comments: HASH, strings: QUOTED, keywords: "false no null off on true yes" },
  json: { comments: SLASHES, strings: QUOTED, keywords: "false null true" },
  css: {
    comments: String.raw`\/\*[^]*?(?:\*\/|$)`,
    strings: QUOTED,
    keywords: "@charset @font-face @import @keyframes @layer @media @supports important inherit initial none unset var",
  },
  markup: { comments: "<!--[^]*?(?:-->|$)", strings: QUOTED, keywords: "" },
};

const NAMES: Record<string, string[]> = {
  script: ["javascript", "js", "jsx", "mjs", "cjs", "typescript", "ts", "tsx", "mts", "vue", "svelte"],
  c: [
    ..."c h cpp c++ cc hpp cs csharp dart go golang groovy java kotlin kt objc php proto rust rs scala swift zig".split(" "),
  ],
  python: ["python", "py", "pyi", "python3", "starlark"],
  shell: ["bash", "console", "fish", "shellsession", "shell-session", "ps1", "powershell", "sh", "shell", "zsh", "dockerfile", "makefile", "make", "just"],
  sql: ["sql", "sqlite", "postgresql", "mysql"],
  lua: ["lua"],
  ruby: ["ruby", "rb", "elixir", "ex", "julia", "jl", "perl", "r"],
  data: ["yaml", "yml", "toml", "ini", "conf", "properties", "env", "gitignore", "hcl", "nix", "cmake"],
  json: ["json", "jsonc", "json5", "jsonl"],
  css: ["css", "scss", "less"],
  markup: ["html", "xml", "svg", "xhtml"],
};

const known = new Map(Object.entries(NAMES).flatMap(([family, names]) => names.map((name) => [name, family] as const)));
const patterns = new Map<string, RegExp>();

/** The whole text in pieces; one plain piece for a language that is not known. */
export function highlight(text: string, language: string): Piece[] {
  const name = language.toLowerCase();
  if (name === "diff" || name === "patch") return diffLines(text);
  const pattern = patternOf(known.get(name) ?? "");
  if (pattern === undefined || text.length > LONGEST) return text === "" ? [] : [{ kind: "plain", text }];
  const pieces: Piece[] = [];
  let at = 0;
  for (const found of text.matchAll(pattern)) {
    const kind = Object.entries(found.groups ?? {}).find(([, part]) => part !== undefined)?.[0].replace(/_.*/, "") as Kind | undefined;
    if (kind === undefined) continue;
    if (found.index > at) pieces.push({ kind: "plain", text: text.slice(at, found.index) });
    pieces.push({ kind, text: found[0] });
    at = found.index + found[0].length;
  }
  if (at < text.length) pieces.push({ kind: "plain", text: text.slice(at) });
  return pieces;
}

function patternOf(name: string): RegExp | undefined {
  const family = FAMILIES[name];
  if (family === undefined) return undefined;
  const made = patterns.get(name);
  if (made !== undefined) return made;
  const words = family.keywords.split(" ").join("|");
  const keyword = name === "markup" ? String.raw`<\/?[A-Za-z][\w:-]*|\/?>` : String.raw`(?<![\w@$.-])(?:${words})(?![\w-])`;
  const pattern = new RegExp(
    [
      `(?<comment>${family.comments})`,
      `(?<string>${family.strings})`,
      String.raw`(?<number>(?<![\w$])(?:0[xob][\da-f_]+|\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)\w*)`,
      `(?<keyword>${keyword})`,
      ...(family.others ?? []).map(([kind, other], place) => `(?<${kind}_${place}>${other})`),
      String.raw`(?<call>(?<![\w$])[A-Za-z_$][\w$]*(?=\())`,
      // A word is looked at once, not from each of its letters.
      String.raw`[A-Za-z_$][\w$]*`,
    ].join("|"),
    family.anyCase ? "gi" : "g",
  );
  patterns.set(name, pattern);
  return pattern;
}

function diffLines(text: string): Piece[] {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  return lines.map((line) => ({ kind: line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "plain", text: line }));
}
