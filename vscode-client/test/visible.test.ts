import assert from "node:assert/strict";
import { test } from "node:test";

import { callAfter } from "../src/chat/calls";
import { visible } from "../src/common/visible";

test("what cannot be seen, or turns the text around, becomes a mark", () => {
  const cases: [string, string][] = [
    ["a\u202eb", "a<U+202E>b"],
    ["a\u200bb\u2066c", "a<U+200B>b<U+2066>c"],
    ["a\u{e0041}b", "a<U+E0041>b"],
    ["a\x1b[31mb\x07\x7f", "a<U+001B>[31mb<U+0007><U+007F>"],
    ["a\ud800b", "a<U+D800>b"],
    ["a\rb\r\nc\td", "a<U+000D>b\nc\td"],
    ["é 漢字 👩\u200d💻 ✔\ufe0f", "é 漢字 👩\u200d💻 ✔\ufe0f"],
  ];
  for (const [text, shown] of cases) assert.equal(visible(text), shown);
});

test("nothing of a call is shown with such characters", () => {
  const words = { nameOf: (path: string) => path, titleOf: (title: string) => title, shortened: () => "", left: () => "" };
  const hidden = "x\u202ey\u200bz";
  const item = callAfter(undefined, {
    toolCallId: "c",
    title: hidden,
    rawInput: { [hidden]: hidden, other: [hidden] },
    content: [
      { type: "content", content: { type: "text", text: hidden } },
      { type: "diff", path: `/r/${hidden}`, oldText: hidden, newText: `${hidden}${hidden}` },
    ],
  }, words);
  const { path: _path, ...part } = item.parts[1] as { path: string };
  assert.doesNotMatch(JSON.stringify([item.title, item.input, item.parts[0], part]), /[\u200b\u202e]/);
});
