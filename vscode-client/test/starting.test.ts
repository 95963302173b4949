import assert from "node:assert/strict";
import { test } from "node:test";

import { StartingState } from "../src/chat/starting";

test("a start that takes long says what can be done, and a new one begins anew", async () => {
  let told = (): void => undefined;
  const long = new Promise<void>((resolve) => (told = resolve));
  const starting = new StartingState(() => told(), 1);
  assert.deepEqual(starting.state(true), { text: "North is starting…", remedies: [] });
  await long;
  assert.deepEqual(starting.state(true)?.remedies.map(({ command }) => command), ["north.showLog", "north.restartServer"]);
  assert.equal(starting.state(false), undefined);
  assert.deepEqual(starting.state(true)?.remedies, []);
  starting.dispose();
});
