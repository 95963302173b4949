import assert from "node:assert/strict";
import { test } from "node:test";

import type { SlashCommand } from "../src/messages";
import { Completion, rankCommands, tokenAt } from "../src/webview/completion";

const COMMANDS: SlashCommand[] = [
  { name: "help", description: "Lists the commands", hint: "" },
  { name: "model", description: "Switches the model", hint: "[id]" },
  { name: "mode", description: "Switches what North may do", hint: "" },
  { name: "auto-accept", description: "Edits without a question", hint: "on|off" },
  { name: "permissions", description: "What is allowed", hint: "" },
];
const SOURCES = [
  { name: "selection" as const, detail: "" },
  { name: "problems" as const, detail: "" },
];

function at(text: string): [string, number] {
  const caret = text.indexOf("|");
  return [text.replace("|", ""), caret];
}

function token(marked: string): string | undefined {
  const [text, caret] = at(marked);
  const found = tokenAt(text, caret);
  return found === undefined ? undefined : `${found.kind} ${found.query} ${text.slice(found.start, found.end)}`;
}

test("a slash command is completed at the beginning only", () => {
  assert.equal(token("/|"), "command  /");
  assert.equal(token("/mo|"), "command mo /mo");
  assert.equal(token("  /mo|del"), "command mo /model");
  assert.equal(token("/help |"), undefined);
  assert.equal(token("/model |"), "value  ");
  assert.equal(token("a /mo|"), undefined);
  assert.equal(token("/usr/b|"), undefined);
});

test("a mention is completed behind a blank", () => {
  assert.equal(token("see @|"), "mention  @");
  assert.equal(token("see @src/a|pp.py now"), "mention src/a @src/app.py");
  assert.equal(token("(@a|"), "mention a @a");
  assert.equal(token("me@example|"), undefined);
  assert.equal(token("@a b|"), undefined);
  assert.equal(token('@"my fi|'), 'mention my fi @"my fi');
  assert.equal(token('@"my fi|le" x'), 'mention my fi @"my file"');
  assert.equal(token('@"my fi| and more'), 'mention my fi @"my fi');
});

test("commands are ranked by their names, then by what they do", () => {
  const names = (query: string) => rankCommands(COMMANDS, query).map(({ name }) => name);
  assert.deepEqual(names(""), ["help", "model", "mode", "auto-accept", "permissions"]);
  assert.deepEqual(names("mode"), ["mode", "model"]);
  assert.deepEqual(names("acc"), ["auto-accept"]);
  assert.deepEqual(names("MO"), ["model", "mode", "permissions"]);
  assert.deepEqual(names("pms"), ["permissions"]);
  assert.deepEqual(names("swi"), ["model", "mode"]);
  assert.deepEqual(names("xyz"), []);
});

test("a command is accepted with a blank behind it", () => {
  const completion = new Completion();
  assert.equal(completion.update("/mo", 3, COMMANDS, SOURCES), undefined);
  completion.move(1);
  assert.equal(completion.current?.name, "mode");
  assert.deepEqual(completion.accept("/mo rest"), { text: "/mode rest", caret: 6, offer: { kind: "command", name: "mode", detail: "Switches what North may do" } });
  assert.equal(completion.isOpen, false);
});

test("a command that is written out is complete", () => {
  const completion = new Completion();
  completion.update("/mode", 5, COMMANDS, SOURCES);
  assert.equal(completion.isComplete, true);
  completion.move(1);
  assert.equal(completion.isComplete, false);
  completion.update("/mod", 4, COMMANDS, SOURCES);
  assert.equal(completion.isComplete, false);
});

test("paths are asked for once per query, and old answers are left alone", () => {
  const completion = new Completion();
  assert.equal(completion.update("@s", 2, COMMANDS, SOURCES), "s");
  const first = completion.request;
  assert.equal(completion.update("@s", 2, COMMANDS, SOURCES), undefined);
  assert.deepEqual(completion.offers.map(({ name }) => name), ["selection"]);
  assert.equal(completion.update("@sr", 3, COMMANDS, SOURCES), "sr");
  assert.equal(completion.arrived(first, [{ path: "old", kind: "file" }]), false);
  assert.equal(completion.isOpen, false);
  assert.equal(completion.arrived(completion.request, [{ path: "src", kind: "folder" }, { path: "src/a.py", kind: "file" }]), true);
  assert.deepEqual(completion.offers.map(({ name }) => name), ["src/", "src/a.py"]);
  // What still matches stays until the answer comes.
  assert.equal(completion.update("@src/a", 6, COMMANDS, SOURCES), "src/a");
  assert.deepEqual(completion.offers.map(({ name }) => name), ["src/a.py"]);
});

test("names of rules and the like stand behind paths, and are written as they are", () => {
  const completion = new Completion();
  completion.update("follow @rule:w", 14, COMMANDS, SOURCES);
  completion.arrived(completion.request, [{ path: "rule:w.md", kind: "file" }], [], [{ name: "rule:web/style", detail: "How pages look" }]);
  assert.deepEqual(completion.offers.map(({ kind, name, detail }) => [kind, name, detail]), [["file", "rule:w.md", ""], ["name", "rule:web/style", "How pages look"]]);
  assert.equal(completion.accept("follow @rule:w", 1)?.text, "follow @rule:web/style ");
});

test("what VS Code attaches itself is offered once, and what is only begun is written on", () => {
  const completion = new Completion();
  completion.update("@", 1, COMMANDS, SOURCES);
  completion.arrived(completion.request, [], [], [{ name: "problems", detail: "of the server" }, { name: "web:", detail: "A page" }]);
  assert.deepEqual(completion.offers.map(({ kind, name }) => [kind, name]), [["source", "selection"], ["source", "problems"], ["name", "web:"]]);
  assert.equal(completion.accept("@", 2)?.text, "@web:");
});

test("what the user has gone to stays chosen when an answer comes", () => {
  const completion = new Completion();
  completion.update("@", 1, COMMANDS, SOURCES);
  completion.move(1);
  completion.arrived(completion.request, [{ path: "a.py", kind: "file" }]);
  assert.equal(completion.current?.name, "problems");
});

test("going past the ends goes around", () => {
  const completion = new Completion();
  completion.update("/", 1, COMMANDS, SOURCES);
  completion.move(-1);
  assert.equal(completion.current?.name, "permissions");
  completion.move(1);
  assert.equal(completion.current?.name, "help");
});

test("what was dismissed stays away until something else is written", () => {
  const completion = new Completion();
  completion.update("/mo", 3, COMMANDS, SOURCES);
  completion.dismiss();
  completion.update("/mod", 4, COMMANDS, SOURCES);
  assert.equal(completion.isOpen, false);
  completion.update("", 0, COMMANDS, SOURCES);
  completion.update("/", 1, COMMANDS, SOURCES);
  assert.equal(completion.isOpen, true);
});

test("names with blanks are quoted, and folders can be gone into", () => {
  const completion = new Completion();
  completion.update("see @my", 7, COMMANDS, SOURCES);
  completion.arrived(completion.request, [{ path: "my docs", kind: "folder" }, { path: "my file.md", kind: "file" }]);
  assert.equal(completion.accept("see @my", 1)?.text, 'see @"my file.md" ');
  completion.update("see @my", 7, COMMANDS, SOURCES);
  completion.arrived(completion.request, [{ path: "my docs", kind: "folder" }]);
  const into = completion.accept("see @my", 0, true);
  assert.equal(into?.text, 'see @"my docs/');
  assert.equal(completion.update(into?.text ?? "", into?.caret ?? 0, COMMANDS, SOURCES), "my docs/");
});

test("behind a command whose values are known, they are offered, and what can follow them", () => {
  const completion = new Completion();
  const text = "/config bud";
  assert.deepEqual(tokenAt(text, text.length), { kind: "value", start: 8, end: 11, query: "bud", command: "config", before: [] });
  assert.deepEqual(tokenAt("/config budget.turn 5", 21)?.before, ["budget.turn"]);
  assert.equal(tokenAt("/explain this", 13), undefined);
  assert.notEqual(completion.update(text, text.length, [], []), undefined); // the extension is asked
  assert.equal(completion.valuesArrived(completion.request, [{ value: "shell.path", detail: "" }, { value: "budget.turn", detail: "5" }]), true);
  assert.deepEqual(completion.offers.map(({ name }) => name), ["budget.turn"]);
  const done = completion.accept(text, completion.active, true); // Tab
  assert.equal(done?.text, "/config budget.turn ");
});

test("a command is sent as it is written unless a value was gone to", () => {
  const completion = new Completion();
  completion.update("/mode ", 6, [], []);
  completion.valuesArrived(completion.request, [{ value: "ask", detail: "" }, { value: "agent", detail: "" }]);
  assert.equal(completion.isOpen, true);
  const chosen = (): string | undefined => completion.current?.name;
  assert.equal(chosen(), undefined); // Enter sends
  completion.move(1);
  assert.equal(chosen(), "ask");
  completion.update("/mode a", 7, [], []); // what has arrived is enough
  assert.deepEqual(completion.offers.map(({ name }) => name), ["ask", "agent"]);
  assert.equal(chosen(), undefined); // it may be meant as it is
  completion.update("/mode ask", 9, [], []);
  completion.move(1);
  assert.equal(completion.isComplete, true);
});

test("values that arrive too late are left alone", () => {
  const completion = new Completion();
  completion.update("/mode ", 6, [], []);
  const { request } = completion;
  completion.update("hello", 5, [], []);
  assert.equal(completion.valuesArrived(request, [{ value: "ask", detail: "" }]), false);
  assert.equal(completion.isOpen, false);
});
