import assert from "node:assert/strict";
import { test } from "node:test";

import { bestSymbols, innermost } from "../src/composer/symbolRanks";
import { Completion } from "../src/webview/completion";

const named = (...names: string[]) => names.map((name) => ({ name }));

test("the name itself comes first, then what begins with it, then what has it", () => {
  const found = named("relamp", "lampshade", "Lamp", "lamps", "lmaap", "lamp");
  assert.deepEqual(bestSymbols(found, "lamp").map(({ name }) => name), ["Lamp", "lamp", "lamps", "lampshade", "relamp", "lmaap"]);
  assert.equal(bestSymbols(named(..."abcdefghij"), "a").length, 6);
});

test("what belongs to a name is the innermost symbol that has it", () => {
  type Symbol = { name: string; range: { start: { line: number }; end: { line: number } }; children: Symbol[] };
  const symbol = (name: string, first: number, last: number, ...children: Symbol[]): Symbol => ({ name, range: { start: { line: first }, end: { line: last } }, children });
  const tree = [symbol("lamp", 0, 2), symbol("House", 4, 20, symbol("lamp(watts)", 6, 9), symbol("door", 10, 12))];
  assert.deepEqual(innermost(tree, "lamp", 6)?.range, tree[1]?.children[0]?.range);
  assert.equal(innermost(tree, "lamp", 1), tree[0]);
  assert.equal(innermost(tree, "House", 11), tree[1]);
  assert.equal(innermost(tree, "window", 11), undefined);
});

test("symbols are offered behind files, written with their names and attached by their ids", () => {
  const completion = new Completion();
  completion.update("see @lam", 8, [], []);
  const symbol = { id: "lamp.ts:1 lamp", name: "lamp", place: "lamp.ts:1" };
  assert.equal(completion.arrived(completion.request, [{ path: "lamp.ts", kind: "file" }], []), true);
  assert.equal(completion.arrived(completion.request, [{ path: "lamp.ts", kind: "file" }], [symbol]), true);
  assert.deepEqual(completion.offers.map(({ kind, name, detail }) => [kind, name, detail]), [["file", "lamp.ts", ""], ["symbol", "lamp", "lamp.ts:1"]]);
  const taken = completion.accept("see @lam", 1);
  assert.equal(taken?.text, "see @lamp ");
  assert.deepEqual(taken?.offer, { kind: "symbol", id: symbol.id, name: "lamp", detail: "lamp.ts:1" });
});
