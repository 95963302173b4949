/** Markdown as a tree of the few things that an answer may consist of. What is not one of them stays text: nothing here
 * makes HTML, and nothing that shows a tree can. Pure. */

import MarkdownIt from "markdown-it";
import type { Token } from "markdown-it";

import { addMaths } from "./maths";
import { type Target, targetOf, targetOfCode } from "./targets";

const TAGS = [
  ..."blockquote br code em h1 h2 h3 h4 h5 h6 hr li ol p s strong".split(" "),
  ..."table tbody td th thead tr ul".split(" "),
];

export type Align = "left" | "center" | "right";

export type Node =
  | { kind: "text"; text: string }
  | { kind: "element"; tag: string; children: Node[]; start?: number; align?: Align; checked?: boolean }
  | { kind: "link"; target: Target; children: Node[] }
  /** A formula as it is written in TeX. `block`: it stands by itself. */
  | { kind: "math"; text: string; block: boolean }
  /** A block of code. `name`: what stands behind its language, such as the file that it is for. */
  | { kind: "code"; language: string; name: string; text: string };

type Parent = { children: Node[] };

/** A block of the text's outermost level, and the line that it begins in, from 0. */
export interface Block {
  node: Node;
  line: number;
}

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: false });
addMaths(markdown);
// A definition would change blocks above it, and below, which are shown already.
markdown.disable("reference");
markdown.validateLink = (address: string) => targetOf(address) !== undefined;
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
for (const scheme of ["ftp:", "mailto:", "//"]) markdown.linkify.add(scheme, null);

export function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  const root: Parent = { children: [] };
  let line = 0;
  let count = 0;
  const open: Parent[] = [root];
  for (const token of markdown.parse(text, {})) {
    if (token.level === 0 && token.map !== null && token.nesting >= 0) line = token.map[0];
    take(token, open);
    for (; count < root.children.length; count += 1) {
      const node = root.children[count];
      if (node !== undefined) blocks.push({ node, line });
    }
  }
  return blocks;
}

/** One token: goes into, opens or closes the innermost of the open nodes. */
function take(token: Token, open: Parent[]): void {
  const into = open.at(-1);
  if (into === undefined) return;
  if (token.nesting > 0) {
    const made = opened(token);
    // A paragraph of a tight list is none: what is in it stands in the list's item.
    if (made === undefined) return void open.push(into);
    into.children.push(made);
    open.push(made);
  } else if (token.nesting < 0) {
    const closed = open.pop();
    if (token.type === "list_item_close" && closed !== undefined) takeBox(closed);
  } else if (token.type === "inline") {
    const inner: Parent[] = [into];
    for (const child of token.children ?? []) take(child, inner);
  } else leaf(token, into, open.some((parent) => "kind" in parent && parent.kind === "link"));
}

function opened(token: Token): Extract<Node, Parent> | undefined {
  if (token.type === "link_open") {
    const target = targetOf(attribute(token, "href") ?? "");
    return target === undefined ? undefined : { kind: "link", target, children: [] };
  }
  if (token.hidden || !TAGS.includes(token.tag)) return undefined;
  const start = attribute(token, "start");
  const align = /text-align:(left|center|right)/.exec(attribute(token, "style") ?? "")?.[1] as Align | undefined;
  return {
    kind: "element",
    tag: token.tag,
    children: [],
    ...(start === null ? {} : { start: Number(start) }),
    ...(align === undefined ? {} : { align }),
  };
}

function leaf(token: Token, into: Parent, inLink: boolean): void {
  const add = (node: Node): void => void into.children.push(node);
  switch (token.type) {
    case "softbreak":
      return write(into, "\n");
    case "hardbreak":
      return add({ kind: "element", tag: "br", children: [] });
    case "hr":
      return add({ kind: "element", tag: "hr", children: [] });
    case "code_inline": {
      const code: Node = { kind: "element", tag: "code", children: [{ kind: "text", text: token.content }] };
      const target = inLink ? undefined : targetOfCode(token.content);
      return add(target === undefined ? code : { kind: "link", target, children: [code] });
    }
    case "math_inline":
    case "math_block":
      return add({ kind: "math", text: token.content, block: token.block });
    case "fence":
    case "code_block": {
      const [language = "", ...rest] = token.info.trim().split(/\s+/);
      return add({ kind: "code", language, name: rest.join(" "), text: token.content.replace(/\n$/, "") });
    }
    case "image": {
      // Never loaded: its words lead to it.
      const target = inLink ? undefined : targetOf(attribute(token, "src") ?? "");
      const words = token.content === "" ? (attribute(token, "src") ?? "") : token.content;
      if (target === undefined) return write(into, words);
      return add({ kind: "link", target, children: [{ kind: "text", text: words }] });
    }
    default:
      write(into, token.content);
  }
}

function attribute(token: Token, name: string): string | null {
  const value = token.attrGet(name);
  return value === null ? null : String(value);
}

/** Texts that follow each other are one. */
function write(into: Parent, text: string): void {
  const last = into.children.at(-1);
  if (last?.kind === "text") last.text += text;
  else if (text !== "") into.children.push({ kind: "text", text });
}

/** `[ ]` or `[x]` at the beginning of a list's item is a box. */
function takeBox(item: Parent): void {
  const [first] = item.children;
  const text = first?.kind === "element" && first.tag === "p" ? first.children[0] : first;
  const box = text?.kind === "text" ? /^\[([ xX])\]\s/.exec(text.text) : null;
  if (box === null || text?.kind !== "text" || !("kind" in item)) return;
  text.text = text.text.slice(box[0].length);
  Object.assign(item, { checked: box[1] !== " " });
}
