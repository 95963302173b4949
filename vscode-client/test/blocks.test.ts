import assert from "node:assert/strict";
import { test } from "node:test";

import { StreamedBlocks, whole } from "../src/webview/blocks";
import type { Node } from "../src/webview/tree";

/** Numbers that are always the same. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const PIECES = [
  ..."# ## - * 1. 2) > ``` ```py ~~~ --- === | |---|:-: \\ ` ** _ [a](b.py#L2) [x] [ ] <b> ![i](u) & &amp; *** + :".split(" "),
  ..."word another a|b é 🙂 https://example.com http:// [r]: /u [r] #x 10. -x".split(" "),
  "$$", "$", "$x$", "$$y$$", "\\[", "\\]", "\\(z\\)", "\n$$\n", "\n\\[\n",
  " ", "  ", "    ", "\t", "\n", "\n", "\n", "\n\n", "\n\n", "\n- ", "\n  - ", "\n> ", "\n```\n", "\n| a | b |\n|---|--:|\n",
];

/** What is on the screen after all pieces came, one after the other. */
function streamed(pieces: string[]): Node[] {
  const blocks = new StreamedBlocks();
  const done = pieces.flatMap((piece) => blocks.append(piece));
  return [...done, ...blocks.open()];
}

test("a text that comes in pieces is shown as the whole text is", () => {
  for (let seed = 1; seed <= 4_000; seed += 1) {
    const next = randomNumbers(seed);
    const words = Array.from({ length: 2 + next(40) }, () => PIECES[next(PIECES.length)] ?? "");
    const text = words.join(next(2) === 0 ? "" : " ");
    const pieces: string[] = [];
    for (let at = 0; at < text.length; ) {
      const size = 1 + next(12);
      pieces.push(text.slice(at, at + size));
      at += size;
    }
    assert.deepEqual(streamed(pieces), whole(text), `seed ${seed}: ${JSON.stringify(text)}`);
  }
});

test("it is shown as the whole text is at every character", () => {
  const text = "# a\n\nb\n- c\n  - d\n\n   e\n\n> f\ng\n\n```ts\nh\n\ni\n```\nj | k\n--- | ---\nl | m\n\nn\n===\n1. o\n2. p\n\nq";
  const blocks = new StreamedBlocks();
  const done: Node[] = [];
  for (let end = 1; end <= text.length; end += 1) {
    done.push(...blocks.append(text.slice(end - 1, end)));
    assert.deepEqual([...done, ...blocks.open()], whole(text.slice(0, end)), JSON.stringify(text.slice(0, end)));
  }
});

test("what is finished is not looked at again: a long answer leaves a short rest", () => {
  const blocks = new StreamedBlocks();
  const paragraph = `${"words ".repeat(50)}\n\n`;
  let done = 0;
  for (let count = 0; count < 1_000; count += 1) done += blocks.append(paragraph).length;
  assert.equal(done, 999);
  assert.equal(blocks.open().length, 1);
});
