/** Formulas in TeX as MathML, which the browser draws: what is common in answers. One with anything else in it is not
 * understood, and is shown as it is written. Pure. */

import { ACCENTS, ALPHABETS, BIG, DELIMITERS, FENCED, FUNCTIONS, SPACES, SYMBOLS } from "./texTables";

export interface MathNode {
  tag: string;
  attributes?: Readonly<Record<string, string>>;
  /** A leaf has a text and no children. */
  text?: string;
  children?: MathNode[];
}

/** Longer and deeper ones are shown as they are written. */
const LONGEST = 4_000;
const DEEPEST = 40;

/** Undefined for what is not understood. */
export function mathOf(tex: string, block: boolean): MathNode | undefined {
  if (tex.length > LONGEST) return undefined;
  try {
    const children = new Parser(tex, block).all();
    return { tag: "math", attributes: { display: block ? "block" : "inline" }, children: [node("mrow", children)] };
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined;
    throw error;
  }
}

class NotUnderstood extends Error {}

const TOKEN = /\\(?:[a-zA-Z]+\*?|.)|\s+|[0-9]+(?:\.[0-9]+)?|[^]/gu;

class Parser {
  private readonly tokens: string[];
  private at = 0;
  private depth = 0;

  constructor(
    tex: string,
    private readonly block: boolean,
  ) {
    this.tokens = tex.match(TOKEN) ?? [];
  }

  all(): MathNode[] {
    const rows = this.rows(undefined);
    return rows.length === 1 && rows[0]?.length === 1 ? (rows[0][0] ?? []) : [table(rows, "right left")];
  }

  /** Blanks mean nothing, but in words. */
  private get next(): string | undefined {
    while (this.tokens[this.at]?.trim() === "") this.at += 1;
    return this.tokens[this.at];
  }

  private take(): string {
    const token = this.next;
    if (token === undefined) throw new NotUnderstood();
    this.at += 1;
    return token;
  }

  private expect(wanted: string): void {
    if (this.take() !== wanted) throw new NotUnderstood();
  }

  /** Rows of cells, up to the end of an environment. */
  private rows(end: string | undefined): MathNode[][][] {
    const rows: MathNode[][][] = [[[]]];
    for (;;) {
      rows.at(-1)?.splice(-1, 1, this.row(new Set(["&", "\\\\", "\\end"])));
      const token = this.next;
      if (token === undefined || token === "\\end") {
        if (end !== undefined) this.endOf(end);
        else if (token !== undefined) throw new NotUnderstood();
        return rows.length > 1 && rows.at(-1)?.every((cell) => cell.length === 0) ? rows.slice(0, -1) : rows;
      }
      this.take();
      if (token === "&") rows.at(-1)?.push([]);
      else rows.push([[]]);
    }
  }

  private endOf(name: string): void {
    this.expect("\\end");
    if (this.word() !== name) throw new NotUnderstood();
  }

  private row(ends: ReadonlySet<string>): MathNode[] {
    const made: MathNode[] = [];
    while (this.next !== undefined && !ends.has(this.next)) made.push(...this.scripted());
    return made;
  }

  /** An atom with what is above and below it. */
  private scripted(): MathNode[] {
    const token = this.next ?? "";
    const base = this.atom();
    let [below, above]: [MathNode | undefined, MathNode | undefined] = [undefined, undefined];
    for (;;) {
      if (this.next === "_" && below === undefined) below = (this.take(), this.argument());
      else if (this.next === "^" && above === undefined) above = (this.take(), this.argument());
      else if (this.next === "'" && above === undefined) above = this.primes();
      else break;
    }
    if (below === undefined && above === undefined) return base;
    const around = this.block && (BIG.get(token.slice(1)) ?? FUNCTIONS.get(token.slice(1))) === true;
    const [under, over, both] = around ? ["munder", "mover", "munderover"] : ["msub", "msup", "msubsup"];
    const inner = one(base);
    if (below !== undefined && above !== undefined) return [node(both ?? "", [inner, below, above])];
    if (below !== undefined) return [node(under ?? "", [inner, below])];
    return above === undefined ? base : [node(over ?? "", [inner, above])];
  }

  private primes(): MathNode {
    let count = 0;
    while (this.next === "'") count += (this.take(), 1);
    return leaf("mo", "′".repeat(count));
  }

  /** What follows a command: a group, or one atom. */
  private argument(): MathNode {
    return one(this.atom());
  }

  private atom(): MathNode[] {
    this.depth += 1;
    if (this.depth > DEEPEST) throw new NotUnderstood();
    try {
      return this.atomOf(this.take());
    } finally {
      this.depth -= 1;
    }
  }

  private atomOf(token: string): MathNode[] {
    if (token === "{") {
      const inside = this.row(new Set(["}"]));
      this.expect("}");
      return [node("mrow", inside)];
    }
    if (token.startsWith("\\")) return this.command(token.slice(1));
    if (/^[0-9]/.test(token)) return [leaf("mn", token)];
    if (/^\p{L}$/u.test(token)) return [leaf("mi", token)];
    if (["}", "^", "_", "&", "#", "%", "$", "~", "'"].includes(token)) throw new NotUnderstood();
    // Without \left they are as high as letters are.
    if (/^[()[\]|]$/.test(token)) return [leaf("mo", token, { stretchy: "false" })];
    return [leaf("mo", token === "-" ? "−" : token === "*" ? "∗" : token)];
  }

  private command(name: string): MathNode[] {
    const symbol = SYMBOLS.get(name);
    if (symbol !== undefined) return [leaf(/^\p{L}$/u.test(symbol) ? "mi" : "mo", symbol)];
    const space = SPACES.get(name);
    if (space !== undefined) return [{ tag: "mspace", attributes: { width: space } }];
    const big = BIG_SIGNS.get(name);
    if (big !== undefined) return [leaf("mo", big, { largeop: "true", movablelimits: "false" })];
    if (FUNCTIONS.has(name)) return [leaf("mi", name), { tag: "mspace", attributes: { width: "0.17em" } }].slice(0, this.next === "_" || this.next === "^" || this.next === "(" ? 1 : 2);
    const accent = ACCENTS.get(name);
    if (accent !== undefined) {
      const [sign, below] = accent;
      return [node(below ? "munder" : "mover", [this.argument(), leaf("mo", sign, { stretchy: String(name.length > 4) })], { [below ? "accentunder" : "accent"]: "true" })];
    }
    const alphabet = ALPHABETS.get(name);
    if (alphabet !== undefined) return [leaf("mi", [...this.word()].map((letter) => alphabet(letter)).join(""), { mathvariant: "normal" })];
    switch (name) {
      case "frac":
      case "dfrac":
      case "tfrac":
        return [node("mfrac", [this.argument(), this.argument()])];
      case "binom":
        return [fenced("(", node("mfrac", [this.argument(), this.argument()], { linethickness: "0" }), ")")];
      case "sqrt":
        return [this.root()];
      case "text":
      case "mathrm":
      case "operatorname":
      case "textbf":
        return [leaf(name === "text" || name === "textbf" ? "mtext" : "mi", this.word(name.startsWith("text")), { mathvariant: "normal" })];
      case "left":
        return [this.fence()];
      case "begin":
        return [this.environment()];
      case "displaystyle":
      case "limits":
      case "nolimits":
        return [];
      case "{":
      case "}":
      case "%":
      case "$":
      case "#":
      case "&":
      case "_":
        return [leaf("mo", name)];
      case "|":
        return [leaf("mo", "‖")];
      default:
        throw new NotUnderstood();
    }
  }

  private root(): MathNode {
    if (this.next !== "[") return node("msqrt", [this.argument()]);
    this.take();
    const index = this.row(new Set(["]"]));
    this.expect("]");
    return node("mroot", [this.argument(), one(index)]);
  }

  private fence(): MathNode {
    const open = this.delimiter();
    const inside = this.row(new Set(["\\right"]));
    this.expect("\\right");
    return fenced(open, one(inside), this.delimiter());
  }

  private delimiter(): string {
    const token = this.take();
    const known = DELIMITERS.get(token);
    if (known === undefined) throw new NotUnderstood();
    return known;
  }

  private environment(): MathNode {
    const name = this.word();
    if (name === "array") this.word(); // how its columns are aligned
    const kind = FENCED.get(name);
    if (kind === undefined) throw new NotUnderstood();
    const [open, close, align] = kind;
    const inside = table(this.rows(name), align);
    return open === "" && close === "" ? inside : fenced(open, inside, close);
  }

  /** The text of a group, as it is written, or one letter. */
  private word(keepsSpaces = false): string {
    const first = this.take();
    if (first !== "{") return /^\w$/.test(first) ? first : this.refuse();
    const end = this.tokens.indexOf("}", this.at);
    const words = end < 0 ? this.refuse() : this.tokens.slice(this.at, end);
    if (words.some((token) => token.startsWith("\\") || token === "{")) return this.refuse();
    this.at = end + 1;
    return words.filter((token) => keepsSpaces || token.trim() !== "").join("");
  }

  private refuse(): never {
    throw new NotUnderstood();
  }
}

const BIG_SIGNS: ReadonlyMap<string, string> = new Map([
  ["sum", "∑"], ["prod", "∏"], ["coprod", "∐"], ["int", "∫"], ["iint", "∬"], ["oint", "∮"], ["bigcup", "⋃"], ["bigcap", "⋂"], ["bigoplus", "⨁"], ["bigvee", "⋁"], ["bigwedge", "⋀"],
]);

function leaf(tag: string, text: string, attributes?: MathNode["attributes"]): MathNode {
  return { tag, text, ...(attributes === undefined ? {} : { attributes }) };
}

function node(tag: string, children: MathNode[], attributes?: MathNode["attributes"]): MathNode {
  return { tag, children, ...(attributes === undefined ? {} : { attributes }) };
}

function one(nodes: MathNode[]): MathNode {
  const [first, ...others] = nodes;
  return first !== undefined && others.length === 0 ? first : node("mrow", nodes);
}

function fenced(open: string, inside: MathNode, close: string): MathNode {
  const sign = (text: string): MathNode[] => (text === "" ? [] : [leaf("mo", text, { stretchy: "true" })]);
  return node("mrow", [...sign(open), inside, ...sign(close)]);
}

function table(rows: MathNode[][][], align: string): MathNode {
  const sides = align.split(" ");
  const cell = (nodes: MathNode[], column: number): MathNode => node("mtd", nodes, { class: `align-${sides[column % sides.length] ?? "center"}` });
  return node("mtable", rows.map((cells) => node("mtr", cells.map(cell))));
}
