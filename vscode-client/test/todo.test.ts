import { at, said } from "./support/page";
import { pin, view } from "./support/pinned";

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { TodoList } from "../src/chat/todoList";
import type { State } from "../src/messages";

pin("todo");
const { showState } = await import("../src/webview/todo");
const show = (todo: State["todo"]): void => showState({ todo } as State);

const LIST: State["todo"] = [
  { name: "Read", tasks: [{ content: "a", status: "completed" }, { content: "b", status: "abandoned" }] },
  { name: "Write", tasks: [{ content: "<b>c</b>", status: "in_progress" }, { content: "d", status: "pending" }] },
  { name: "Empty", tasks: [] },
];

test("a list is pinned with how far it is and what is in progress", () => {
  show([]);
  assert.equal(at("#todo").hidden, true);
  show(LIST);
  assert.equal(at("#todo").hidden, false);
  assert.equal(at("#todo .counts").textContent, "Todo 2/4");
  assert.equal(at("#todo .current").textContent, "<b>c</b>");
  assert.deepEqual([...document.querySelectorAll("#todo .phase")].map((one) => one.textContent), ["Read · 2/2", "Write · 0/2"]);
  assert.deepEqual([...document.querySelectorAll("#todo li")].map((one) => one.className), ["completed", "abandoned", "in_progress", "pending"]);
  assert.equal(document.querySelector("#todo b"), null);
  assert.match(at("#todo li.abandoned").textContent ?? "", /b \(dropped\)/);
});

test("what is folded open stays open when the list changes, and its button asks for the document", () => {
  show(LIST);
  at("#todo").setAttribute("open", "");
  show([{ name: "Write", tasks: [{ content: "d", status: "in_progress" }] }]);
  assert.equal(at("#todo").getAttribute("open"), "");
  at("#todo button").dispatchEvent(new view.Event("click"));
  assert.deepEqual(said.pop(), { type: "run", command: "north.editTodo" });
});

test("what has been closed for a while is hidden, and still counted", () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  const list: TodoList = new TodoList(() => show(list.shown));
  const shown = (): (string | null)[] => [...document.querySelectorAll("#todo li > span:nth-child(2)")].map((one) => one.textContent);
  const [read, write] = LIST;
  assert.ok(read && write);
  list.set([read, write], 60);
  mock.timers.tick(59_000);
  list.set([read, { name: "Write", tasks: [{ content: "c", status: "completed" }, { content: "d", status: "in_progress" }] }], 60);
  assert.deepEqual(shown(), ["a", "b", "c", "d"]);
  mock.timers.tick(1_000);
  assert.deepEqual(shown(), ["c", "d"]);
  assert.equal(at("#todo .counts").textContent, "Todo 3/4");
  list.set([{ name: "Read", tasks: [{ content: "a", status: "in_progress" }, { content: "b", status: "abandoned" }] }], 60);
  assert.deepEqual(shown(), ["a"]); // it was begun again
  list.set([{ name: "Read", tasks: [{ content: "a", status: "completed" }, { content: "b", status: "abandoned" }] }], 60);
  mock.timers.tick(60_000);
  assert.equal(at("#todo").hidden, true);
  list.set([read], -1);
  assert.deepEqual(shown(), ["a", "b"]);
  list.set([read], 0);
  assert.equal(at("#todo").hidden, true);
  list.dispose();
  mock.timers.reset();
});
