import assert from "node:assert/strict";
import { test } from "node:test";

import type { Conversations } from "../src/chat/conversations";
import { allIdle, type Worker } from "../src/common/idle";
import { Folders } from "../src/common/setup";

/** Something that is at work until a test says that it is not. */
function worker(): Worker & { end(): void } {
  let end = (): void => undefined;
  const done = new Promise<void>((resolve) => (end = resolve));
  const made = { busy: true, idle: () => done, end: () => ((made.busy = false), end()) };
  return made;
}

const settled = () => new Promise(setImmediate);

test("other folders are taken once all conversations are idle: those of the side bar, of tabs and of VS Code's chat", async () => {
  const [main, tab, aside] = [worker(), worker(), worker()];
  const session = (isOpen: boolean) => ({ problem: "", options: isOpen ? [{}] : [], restart: async () => void (restarts += 1) });
  let restarts = 0;
  const conversations = { main: { session: session(false) }, all: [{ session: session(false) }, { session: session(true) }] };
  const folders = new Folders(conversations as unknown as Conversations, () => allIdle([main, tab, aside]));
  const taken = [folders.take(), folders.take()]; // a second change meanwhile
  for (const one of [main, aside, tab]) {
    await settled();
    assert.equal(restarts, 0);
    one.end();
  }
  await Promise.all(taken);
  assert.equal(restarts, 1);
});
