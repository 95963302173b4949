/** Trees as elements. A later tree changes only what differs: finished text is not touched, so that what is selected,
 * focused or open in it stays so. */

import { codeBlock, updateCode } from "./code";
import { element, scrolls, setText } from "./elements";
import { symbolOf, type Target } from "./targets";
import { type MathNode, mathOf } from "./tex";
import { WORDS } from "./texts";
import type { Node } from "./tree";

/** Each child of `parent` is one of the `before` nodes; afterwards, one of the `now` nodes. */
export function patch(parent: globalThis.Node, before: Node[], now: Node[]): void {
  patchFrom(parent, 0, before, now);
}

/** The same for what stands in `parent` from a child on. */
export function patchFrom(parent: globalThis.Node, first: number, before: Node[], now: Node[]): void {
  for (const [index, node] of now.entries()) {
    const old = before[index];
    const child = parent.childNodes[first + index];
    if (child === undefined || old === undefined) parent.insertBefore(build(node), child ?? null);
    else if (!change(child, old, node)) parent.replaceChild(build(node), child);
  }
  for (let count = before.length; count > now.length; count -= 1) {
    const child = parent.childNodes[first + now.length];
    if (child !== undefined) parent.removeChild(child);
  }
}

export function build(node: Node): ChildNode {
  switch (node.kind) {
    case "text":
      return document.createTextNode(node.text);
    case "code":
      return codeBlock(node);
    case "math":
      return formula(node);
    case "link": {
      const made = link(node.target);
      for (const child of node.children) made.append(build(child));
      return made;
    }
    case "element": {
      const made = document.createElement(node.tag);
      if (node.start !== undefined && made instanceof HTMLOListElement) made.start = node.start;
      const symbol = node.tag === "code" ? symbolOf(textOf(node)) : undefined;
      if (symbol !== undefined) made.dataset.symbol = symbol;
      if (node.align !== undefined) made.classList.add(`align-${node.align}`);
      for (const child of node.children) made.append(build(child));
      if (node.checked !== undefined) addBox(made, node.checked);
      return node.tag === "table" ? scrolling(made) : made;
    }
  }
}

/** Whether the element could be changed into what the new node says. */
function change(child: ChildNode, old: Node, node: Node): boolean {
  if (old.kind === "text" && node.kind === "text" && child instanceof Text) {
    if (node.text.startsWith(old.text)) child.appendData(node.text.slice(old.text.length));
    else child.data = node.text;
    return true;
  }
  if (old.kind === "code" && node.kind === "code" && child instanceof HTMLElement) return updateCode(child, node);
  if (old.kind === "math" && node.kind === "math" && old.block === node.block && child instanceof HTMLElement) {
    if (old.text !== node.text) drawFormula(child, node);
    return true;
  }
  if (old.kind === "link" && node.kind === "link" && JSON.stringify(old.target) === JSON.stringify(node.target)) {
    patch(child, old.children, node.children);
    return true;
  }
  if (old.kind !== "element" || node.kind !== "element") return false;
  const same = old.tag === node.tag && old.start === node.start && old.align === node.align && old.checked === node.checked;
  if (!same || (node.tag === "code" && textOf(old) !== textOf(node))) return false; // it may be a link to a symbol
  const inner = node.tag === "table" ? child.firstChild : child;
  if (inner !== null) patchFrom(inner, node.checked === undefined ? 0 : 1, old.children, node.children);
  return true;
}

function formula(node: Extract<Node, { kind: "math" }>): HTMLElement {
  const made = element(node.block ? "div" : "span", "math");
  drawFormula(made, node);
  return made;
}

/** As it is written where it is not understood, or is not there whole yet. */
function drawFormula(box: HTMLElement, { text, block }: Extract<Node, { kind: "math" }>): void {
  const maths = mathOf(text, block);
  box.classList.toggle("source", maths === undefined);
  box.title = maths === undefined ? "" : text;
  if (maths === undefined) setText(box, text);
  else box.replaceChildren(mathElement(maths));
}

const MATHML = "http://www.w3.org/1998/Math/MathML";

function mathElement({ tag, attributes = {}, text, children = [] }: MathNode): Element {
  const made = document.createElementNS(MATHML, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  made.append(...children.map(mathElement));
  return made;
}

function textOf({ children }: Extract<Node, { kind: "element" }>): string {
  return children.map((child) => (child.kind === "text" ? child.text : "")).join("");
}

/** Without `href` neither the browser nor VS Code follows a link: what happens is up to the extension. */
function link(target: Target): HTMLElement {
  const made = document.createElement("a");
  if ("address" in target) {
    made.dataset.address = target.address;
    made.title = target.address;
  } else {
    made.dataset.path = target.path;
    made.title = target.path;
    if (target.line !== undefined) {
      made.dataset.line = String(target.line);
      made.title += `:${target.line}`;
    }
  }
  made.setAttribute("role", "link");
  made.tabIndex = 0;
  return made;
}

function addBox(item: HTMLElement, checked: boolean): void {
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = checked;
  box.disabled = true;
  box.setAttribute("aria-label", checked ? WORDS.done : WORDS.open);
  item.classList.add("task");
  item.prepend(box);
}

/** A wide table scrolls by itself: neither its words nor the page are torn apart. */
function scrolling(table: HTMLElement): HTMLElement {
  const made = scrolls(element("div", "table"), WORDS.table);
  made.append(table);
  return made;
}
