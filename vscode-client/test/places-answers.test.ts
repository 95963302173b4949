import assert from "node:assert/strict";
import { test } from "node:test";

import { editsOf, hoverText, MOST_PLACES, placesOf, signatureText, symbolsOf } from "../src/places/answers";

const range = (line: number, last = line) => ({ start: { line, character: 1 }, end: { line: last, character: 9 } });
const address = (text: string) => ({ toString: () => text });

test("locations and links to them are places, each once", () => {
  const found = [
    { uri: address("file:///a.py"), range: range(1) },
    { targetUri: address("file:///b.py"), targetRange: range(2, 8), targetSelectionRange: range(3) },
    { targetUri: address("file:///c.py"), targetRange: range(4) },
    { uri: address("file:///a.py"), range: range(1) },
  ];
  assert.deepEqual(placesOf(found), [
    { uri: "file:///a.py", range: range(1) },
    { uri: "file:///b.py", range: range(3) },
    { uri: "file:///c.py", range: range(4) },
  ]);
});

test("very many places are cut", () => {
  const found = Array.from({ length: 1_000 }, (_, line) => ({ uri: address("file:///a.py"), range: range(line) }));
  assert.equal(placesOf(found).length, MOST_PLACES);
});

test("a tree of symbols is a list that names what each is in", () => {
  const method = { name: "run", kind: 5, range: range(2), children: [{ name: "inner", kind: 11, range: range(3), children: [] }] };
  const tree = [{ name: "Lamp", kind: 4, range: range(1, 9), children: [method] }];
  assert.deepEqual(symbolsOf(tree, address("file:///a.py")), [
    { name: "Lamp", kind: "class", uri: "file:///a.py", range: range(1, 9) },
    { name: "run", kind: "method", container: "Lamp", uri: "file:///a.py", range: range(2) },
    { name: "inner", kind: "function", container: "Lamp.run", uri: "file:///a.py", range: range(3) },
  ]);
});

test("a flat list of symbols keeps its files", () => {
  const flat = [{ name: "Lamp", kind: 4, containerName: "light", location: { uri: address("file:///l.py"), range: range(1) } }];
  assert.deepEqual(symbolsOf(flat, ""), [{ name: "Lamp", kind: "class", container: "light", uri: "file:///l.py", range: range(1) }]);
});

test("an unknown kind is a symbol", () => {
  assert.equal(symbolsOf([{ name: "x", kind: 99, range: range(0), children: [] }], "u")[0]?.kind, "symbol");
});

test("ranges lose what only the editor knows", () => {
  class Range {
    start = { line: 1, character: 2, translate: () => undefined };
    end = { line: 1, character: 3, translate: () => undefined };
  }
  assert.deepEqual(editsOf([{ range: new Range(), newText: "x" }]), [
    { range: { start: { line: 1, character: 2 }, end: { line: 1, character: 3 } }, newText: "x" },
  ]);
});

test("hovers are Markdown, whatever they are made of", () => {
  const text = hoverText([{ contents: ["words", { language: "py", value: "def f()" }] }, { contents: [{ value: "more" }, ""] }]);
  assert.equal(text, "words\n\n```py\ndef f()\n```\n\nmore");
});

test("the signature that is meant is marked among several", () => {
  const signatures = [{ label: "f(a)" }, { label: "f(a, b)", documentation: { value: "adds" } }];
  assert.equal(signatureText(signatures, 1), "f(a)\n\n→ f(a, b)\nadds");
  assert.equal(signatureText([{ label: "f(a)" }], 0), "f(a)");
});
