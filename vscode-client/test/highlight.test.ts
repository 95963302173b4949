import assert from "node:assert/strict";
import { test } from "node:test";

import { highlight } from "../src/webview/highlight";

/** `keyword:def plain: ...` without the plain pieces. */
function told(text: string, language: string): string[] {
  return highlight(text, language)
    .filter((piece) => piece.kind !== "plain")
    .map((piece) => `${piece.kind}:${piece.text}`);
}

test("nothing is lost or added, whatever the text is", () => {
  const text = "def f(x):\n    '''a\n# b''' # c\n  \"open\n  `<b>` 0xFF 1_000.5e3 é🙂 --x /* y";
  for (const language of ["py", "ts", "go", "sh", "sql", "lua", "yaml", "json", "html", "css", "diff", "none", ""]) {
    assert.equal(highlight(text, language).map((piece) => piece.text).join(""), text, language);
  }
});

test("Python", () => {
  assert.deepEqual(told('def greet(name):  # hi\n    return f"Hello {name}", 12', "python"), [
    "keyword:def", "call:greet", "comment:# hi", "keyword:return", 'string:f"Hello {name}"', "number:12",
  ]);
});

test("TypeScript", () => {
  assert.deepEqual(told("const a = `b\n${c}`; // d\nx.default(1)", "ts"), [
    "keyword:const", "string:`b\n${c}`", "comment:// d", "call:default", "number:1",
  ]);
});

test("a shell's # is a comment at the beginning of a word only", () => {
  assert.deepEqual(told('echo "$#" a#b # c', "bash"), ["keyword:echo", 'string:"$#"', "comment:# c"]);
});

test("a shell's programs, options and variables", () => {
  assert.deepEqual(told("python3 -m hello Anna | tail -3 && ./run --all $HOME", "sh"), [
    "call:python3", "number:-m", "call:tail", "number:3", "call:./run", "number:--all", "number:$HOME",
  ]);
  assert.deepEqual(told("$ git log\nfor i in 1; do echo $i; done", "console"), [
    "call:git", "keyword:for", "keyword:in", "number:1", "keyword:do", "keyword:echo", "number:$i", "keyword:done",
  ]);
});

test("diffs have colors by lines", () => {
  assert.deepEqual(told(" a\n-b\n+c", "diff"), ["removed:-b\n", "added:+c"]);
});

test("a string that is not closed ends with its line", () => {
  assert.deepEqual(told('a = "b\nreturn', "py"), ["keyword:return"]);
});

test("long code takes no long time", () => {
  const begin = performance.now();
  highlight(`${"a".repeat(20_000)}\n${'"'.repeat(20_000)}\n${"/*".repeat(5_000)}`, "ts");
  highlight(`${";".repeat(20_000)}${" ".repeat(20_000)}${"a ".repeat(5_000)}`, "sh");
  highlight(`${"((((".repeat(5_000)}${"'".repeat(20_000)}`, "py");
  assert.ok(performance.now() - begin < 1_000);
});
