/** A text that is still being written, as blocks: those that can no longer change, and the rest. Pure.
 *
 * Markdown's blocks are decided line by line: a whole line can change the last open block and nothing above it. So each
 * block is finished as soon as another one has begun with a line that is complete, and is never looked at again. */

import { type Block, blocksOf, type Node } from "./tree";

export class StreamedBlocks {
  /** What is not finished. */
  private rest = "";
  private sinceLine = 0;

  /** Adds to the text; returns the blocks that are finished by it. */
  append(text: string): Node[] {
    this.rest += text;
    const end = this.rest.lastIndexOf("\n") + 1;
    if (end <= this.sinceLine) return [];
    this.sinceLine = end;
    const blocks = blocksOf(this.rest.slice(0, end));
    const last = blocks.pop();
    if (last === undefined || blocks.length === 0) return [];
    const at = startOf(this.rest, last);
    this.rest = this.rest.slice(at);
    this.sinceLine -= at;
    return blocks.map((block) => block.node);
  }

  /** The blocks that may change yet, as they look now. */
  open(): Node[] {
    return this.rest.trim() === "" ? [] : blocksOf(this.rest).map((block) => block.node);
  }
}

export function whole(text: string): Node[] {
  return blocksOf(text).map((block) => block.node);
}

function startOf(text: string, block: Block): number {
  let at = 0;
  for (let line = 0; line < block.line; line += 1) at = text.indexOf("\n", at) + 1;
  return at;
}
