/** Markdown on the page, that may grow. */

import { StreamedBlocks, whole } from "./blocks";
import { build, patchFrom } from "./dom";
import type { Node } from "./tree";

export function render(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  for (const node of whole(text)) fragment.append(build(node));
  return fragment;
}

/** A text in an element of its own. Finished blocks are never touched again. */
export class StreamedMarkdown {
  private blocks = new StreamedBlocks();
  private text = "";
  /** So many children are finished; the others are the blocks that may change yet. */
  private done = 0;
  private open: Node[] = [];

  constructor(private readonly parent: HTMLElement) {}

  show(text: string): void {
    if (!text.startsWith(this.text)) this.clear();
    if (text === this.text) return;
    const finished = this.blocks.append(text.slice(this.text.length));
    this.text = text;
    const open = this.blocks.open();
    patchFrom(this.parent, this.done, this.open, [...finished, ...open]);
    this.done += finished.length;
    this.open = open;
  }

  private clear(): void {
    this.parent.replaceChildren();
    this.blocks = new StreamedBlocks();
    this.text = "";
    this.done = 0;
    this.open = [];
  }
}
