import assert from "node:assert/strict";
import { test } from "node:test";

import type { Session } from "../src/chat/session";
import { showTasks } from "../src/chat/tasks";
import { EventEmitter, window } from "./support/vscode";

test("a task that cannot be opened or cancelled any more says why", async () => {
  const [pressed, accepted] = [new EventEmitter<object>(), new EventEmitter<void>()];
  const list = { onDidTriggerItemButton: pressed.event, onDidAccept: accepted.event, onDidHide: () => undefined, hide: () => undefined, show: () => undefined, items: [] as object[], selectedItems: [] as object[] };
  const told: string[] = [];
  Object.assign(window, { createQuickPick: () => list, showErrorMessage: async (text: string) => void told.push(text) });
  const ask = async (method: string) => {
    if (method === "_north/tasks/list") return { tasks: [{ id: "t1", agent: "explore", state: "running", description: "look" }] };
    throw new Error(`${method}: it is over`);
  };
  await showTasks({ ask } as unknown as Session);
  pressed.fire({ item: list.items[0] });
  list.selectedItems = list.items;
  accepted.fire();
  await new Promise(setImmediate);
  assert.deepEqual(told, ["North: _north/tasks/cancel: it is over", "North: _north/tasks/transcript: it is over"]);
});
