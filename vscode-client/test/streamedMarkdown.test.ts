import { at, div, said } from "./support/page";

import assert from "node:assert/strict";
import { test } from "node:test";

import { StreamedMarkdown, render } from "../src/webview/streamedMarkdown";

function whole(text: string): string {
  const made = div();
  made.append(render(text));
  return made.innerHTML;
}

const long = [
  "# Title\n\nSome *words* and `a/b.ts:3`.\n\n",
  "1. one\n2. two\n   - deep\n\n   more\n\n- [ ] box\n- [x] done\n\n",
  "```py\ndef f(x):\n    # why\n    return 'a'\n```\n\n> quote\n> on\n\n",
  "so $x^2$ and\n$$\n\\frac{a}{b}\n$$\n\n| a | b |\n|---|--:|\n| 1 | `2` |\n\n<b>text</b> https://e.org ![p](https://e.org/p.png)\n",
].join("");

test("drawn in pieces of any size, a text looks as it does when it is drawn as a whole", () => {
  for (const size of [1, 2, 3, 7, 20, 64]) {
    const parent = div();
    const prose = new StreamedMarkdown(parent);
    for (let end = size; end < long.length + size; end += size) {
      const text = long.slice(0, end);
      prose.show(text);
      assert.equal(parent.innerHTML, whole(text), `${size}: ${JSON.stringify(text)}`);
    }
  }
});

test("what is finished stays the same element, and what grows, too", () => {
  const parent = div();
  const prose = new StreamedMarkdown(parent);
  prose.show("first\n\n- one\n- tw");
  const [first, list] = [...parent.childNodes];
  const item = list?.childNodes[0];
  const words = list?.childNodes[1]?.firstChild;
  prose.show("first\n\n- one\n- two\n- three");
  assert.deepEqual([...parent.childNodes], [first, list]);
  assert.equal(list?.childNodes[0], item);
  assert.equal(list?.childNodes[1]?.firstChild, words);
  prose.show("first\n\n- one\n- two\n- three\n\nlast");
  assert.equal(parent.childNodes[1], list);
  assert.equal(parent.childNodes.length, 3);
});

test("code that grows keeps its element and its finished pieces", () => {
  const parent = div();
  const prose = new StreamedMarkdown(parent);
  prose.show("```py\nreturn 1\nx");
  const block = parent.firstChild;
  const keyword = parent.querySelector(".c-keyword");
  prose.show("```py\nreturn 1\nx = 'a'\n```\nafter");
  assert.equal(parent.firstChild, block);
  assert.equal(parent.querySelector(".c-keyword"), keyword);
  assert.equal(parent.querySelector("code")?.textContent, "return 1\nx = 'a'");
});

test("the buttons of a block take the code as it is now, with its name", () => {
  const parent = div();
  const prose = new StreamedMarkdown(parent);
  prose.show("```py a.py\nx");
  prose.show("```py a.py\nx = 1\n```\n");
  const shown = [...parent.querySelectorAll("button")].filter((one) => !one.hidden);
  for (const one of shown) one.dispatchEvent(new (document.defaultView as Window & typeof globalThis).Event("click"));
  assert.deepEqual(said.splice(0).map((message) => message.type === "code" && [message.what, message.text, message.name, message.language]), [
    ["copy", "x = 1", "a.py", "py"],
    ["insert", "x = 1", "a.py", "py"],
    ["apply", "x = 1", "a.py", "py"],
  ]);
  assert.equal(at("#announce").textContent, "Copied");
});

test("what a shell runs can be typed into the terminal, once its language is known", () => {
  const parent = div();
  const prose = new StreamedMarkdown(parent);
  prose.show("```s");
  const toTerminal = () => parent.querySelector<HTMLElement>("[aria-label='Type into the Terminal']");
  assert.equal(toTerminal()?.hidden, true);
  prose.show("```sh\nnpm test\n```\n");
  assert.equal(toTerminal()?.hidden, false);
  toTerminal()?.dispatchEvent(new (document.defaultView as Window & typeof globalThis).Event("click"));
  assert.deepEqual(said.splice(0), [{ type: "code", what: "terminal", text: "npm test", name: "", language: "sh" }]);
});

test("a diagram is code that VS Code's own preview draws", () => {
  const parent = div();
  const prose = new StreamedMarkdown(parent);
  prose.show("```mermaid\ngraph TD\n  a-->b\n```\n\n```sh\nls\n```\n");
  const toPreview = [...parent.querySelectorAll<HTMLElement>("[aria-label='Show in the Markdown Preview']")];
  assert.deepEqual(toPreview.map(({ hidden }) => hidden), [false, true]);
  toPreview[0]?.dispatchEvent(new (document.defaultView as Window & typeof globalThis).Event("click"));
  assert.deepEqual(said.splice(0), [{ type: "code", what: "diagram", text: "graph TD\n  a-->b", name: "", language: "mermaid" }]);
});

test("harm stays text: no elements of its own, no addresses that a browser follows, no handlers", () => {
  const parent = div();
  new StreamedMarkdown(parent).show(
    [
      "<script>x</script> <img src=x onerror=y> <a href='javascript:z'>a</a>",
      "[b](javascript:alert(1)) [c](data:text/html,x) [d](command:north.stop) ![e](javascript:1)",
      "[f](https://e.org/?q=1 \"title\" ) <https://e.org> <javascript:1>",
      "```<img>\n</code><script>\n```",
      "| <b> |\n|---|\n| <i>x</i> |",
    ].join("\n\n"),
  );
  assert.equal(parent.querySelectorAll("script, img, [href], [src], [onerror], [style], b, i").length, 0);
  for (const link of parent.querySelectorAll("a")) assert.match(link.getAttribute("data-address") ?? "", /^https:/);
});

test("a text that does not go on from what is shown takes its place", () => {
  const parent = div();
  const prose = new StreamedMarkdown(parent);
  prose.show("one\n\ntwo");
  prose.show("three");
  assert.equal(parent.innerHTML, whole("three"));
});
