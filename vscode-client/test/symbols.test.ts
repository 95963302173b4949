import { div, said } from "./support/page";

import assert from "node:assert/strict";
import { test } from "node:test";

import { answers, openFolder } from "./support/vscode";
import { knownSymbols } from "../src/chat/symbols";
import { render } from "../src/webview/streamedMarkdown";
import { symbolOf } from "../src/webview/targets";

const view = document.defaultView as Window & typeof globalThis;
Object.assign(globalThis, { window: view, Element: view.Element });
for (const id of ["rows", "waiting"]) {
  const made = div();
  made.id = id;
  document.body.append(made);
}

test("what may be the name of a symbol", () => {
  assert.deepEqual(["greet", "greet()", "Greeter.greet", "std::map", "größe_2"].map(symbolOf), ["greet", "greet", "Greeter.greet", "std::map", "größe_2"]);
  for (const none of ["ab", "npm test", "--help", "1.5", "a.py:3", "greet(name)", "x".repeat(200)]) assert.equal(symbolOf(none), undefined, none);
});

test("names that the language servers know become links, others stay as they are", async () => {
  const { showSymbols } = await import("../src/webview/symbols");
  await import("../src/webview/links");
  const row = div();
  row.className = "row answer";
  row.append(render("Call `greet()` and `unknown`, see [`greet`](a.py)."));
  document.querySelector("#rows")?.append(row);
  showSymbols([], []); // looks at what is there
  assert.deepEqual(said.pop(), { type: "symbols", names: ["unknown", "greet"] });
  showSymbols(["greet", "unknown"], ["greet"]);
  const links = [...row.querySelectorAll<HTMLElement>("code[role=link]")];
  assert.deepEqual(links.map((one) => one.textContent), ["greet()"]);
  assert.equal(said.length, 0, "nothing is asked twice");
  links[0]?.dispatchEvent(new view.Event("click", { bubbles: true, cancelable: true }));
  assert.deepEqual(said.pop(), { type: "symbol", name: "greet" });
});

test("the newest names are asked about first, a few at once, and not all of a long conversation", async () => {
  const { showSymbols } = await import("../src/webview/symbols");
  const row = div();
  row.className = "row answer";
  row.append(render(Array.from({ length: 1_000 }, (_, index) => `\`name_${index}\``).join(" ")));
  document.querySelector("#rows")?.append(row);
  showSymbols([], []);
  const asked: string[] = [];
  for (let message = said.pop(); message?.type === "symbols"; message = said.pop()) {
    assert.ok(message.names.length <= 40);
    asked.push(...message.names);
    showSymbols(message.names, []);
  }
  assert.equal(asked[0], "name_999");
  assert.ok(asked.length <= 400, `${asked.length}`);
});

test("a symbol is known by its whole name, in the open folders", async () => {
  openFolder("/repo");
  const at = (name: string, fsPath: string, containerName = "") => ({ name, containerName, location: { uri: { scheme: "file", fsPath } } });
  const all = [at("greet(name)", "/repo/a.py"), at("greeting", "/repo/a.py"), at("print", "/usr/lib/b.py"), at("run", "/repo/c.py", "app.Server")];
  answers["vscode.executeWorkspaceSymbolProvider"] = (query) => all.filter(({ name }) => name.includes(String(query)));
  assert.deepEqual(await knownSymbols(["greet", "greetin", "print", "Server.run", "other.run"]), ["greet", "Server.run", "other.run"]);
  answers["vscode.executeWorkspaceSymbolProvider"] = () => Promise.reject(new Error("no language server"));
  assert.deepEqual(await knownSymbols(["greet"]), []);
});
