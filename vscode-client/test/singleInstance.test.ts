import assert from "node:assert/strict";
import { test } from "node:test";

import { SingleInstance } from "../src/common/singleInstance";

/** Things with numbers, and what was done; preparing, beginning and ending take until the test says so. */
function world() {
  const done: string[] = [];
  const waiting: (() => void)[] = [];
  let made = 0;
  const step = (what: string): Promise<void> => {
    done.push(what);
    return new Promise((resolve) => waiting.push(resolve));
  };
  const single = new SingleInstance<void, number>(
    () => step("prepare"),
    async () => {
      const number = (made += 1);
      await step(`begin ${number}`);
      return number;
    },
    (number) => step(`end ${number}`),
  );
  /** Lets everything go on until nothing waits. */
  const settle = async (): Promise<void> => {
    for (let rounds = 0; rounds < 50; rounds += 1) {
      waiting.splice(0).forEach((goOn) => goOn());
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { single, done, settle };
}

test("whoever asks gets the same one", async () => {
  const { single, done, settle } = world();
  const both = Promise.all([single.get(), single.get()]);
  await settle();
  assert.deepEqual(await both, [1, 1]);
  assert.equal(await single.get(), 1);
  assert.deepEqual(done, ["prepare", "begin 1"]);
});

test("the next one begins when the one before has ended, also when that had only begun", async () => {
  const { single, done, settle } = world();
  void single.get();
  await Promise.resolve();
  await settle();
  void single.stop();
  const next = single.get();
  await settle();
  assert.equal(await next, 2);
  assert.deepEqual(done.filter((what) => what !== "prepare"), ["begin 1", "end 1", "begin 2"]);
});

test("asking, stopping and asking again at once makes one", async () => {
  const { single, done, settle } = world();
  const first = single.get();
  void single.stop();
  const second = single.get();
  void single.stop();
  const third = single.get();
  await settle();
  assert.deepEqual(await Promise.all([first, second, third]), [1, 1, 1]);
  assert.deepEqual(done.filter((what) => what.startsWith("begin")), ["begin 1"]);
});

test("what failed is tried again when it is asked for", async () => {
  let tries = 0;
  const single = new SingleInstance(
    async () => undefined,
    async () => {
      tries += 1;
      if (tries === 1) throw new Error("not yet");
      return tries;
    },
    async () => undefined,
  );
  await assert.rejects(single.get(), /not yet/);
  assert.equal(await single.get(), 2);
});

test("what was lost is made again, and nothing is made after closing", async () => {
  const { single, done, settle } = world();
  void single.get();
  await settle();
  single.markEnded();
  const again = single.get();
  await settle();
  assert.equal(await again, 2);
  const late = single.get();
  assert.equal(await late, 2);
  void single.close();
  const never = single.get().catch((error: Error) => error.message);
  await settle();
  assert.equal(await never, "closed");
  assert.deepEqual(done.filter((what) => what !== "prepare"), ["begin 1", "begin 2", "end 2"]);
});
