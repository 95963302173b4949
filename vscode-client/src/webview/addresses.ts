/** Addresses of web pages in plain text, as links: what North says is no Markdown. Pure. */

import { targetOf } from "./targets";
import type { Node } from "./tree";

const ADDRESS = /https?:\/\/[^\s<>"'`]*[^\s<>"'`.,:;!?()[\]{}]/gi;

export function withLinks(text: string): Node[] {
  const nodes: Node[] = [];
  let at = 0;
  for (const found of text.matchAll(ADDRESS)) {
    const [address] = found;
    const target = targetOf(address);
    if (target === undefined) continue;
    if (found.index > at) nodes.push({ kind: "text", text: text.slice(at, found.index) });
    nodes.push({ kind: "link", target, children: [{ kind: "text", text: address }] });
    at = found.index + address.length;
  }
  if (at < text.length) nodes.push({ kind: "text", text: text.slice(at) });
  return nodes;
}
