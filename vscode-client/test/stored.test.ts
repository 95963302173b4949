import assert from "node:assert/strict";
import { test } from "node:test";

import { ago, rememberedConversation, storedConversations } from "../src/chat/stored";

const now = new Date("2026-03-10T12:00:00Z");

test("a conversation without a title has a name all the same, and says where it is open", () => {
  const rows = [
    { sessionId: "a", title: "Rename greet", updatedAt: "2026-03-10T11:30:00Z" },
    { sessionId: "b", title: "  ", updatedAt: null },
    { sessionId: "c", title: null, updatedAt: "nonsense" },
  ];
  const found = storedConversations(rows, new Map([["b", "in a tab"]]), now);
  assert.deepEqual(found, [
    { id: "a", title: "Rename greet", when: "30 min ago" },
    { id: "b", title: "Untitled", when: "in a tab" },
    { id: "c", title: "Untitled", when: "" },
  ]);
});

test("the age is said in the largest unit, and as a date after a week", () => {
  const cases = [
    ["2026-03-10T11:59:30Z", "now"],
    ["2026-03-10T11:01:00Z", "59 min ago"],
    ["2026-03-10T11:00:00Z", "1 h ago"],
    ["2026-03-09T12:00:00Z", "yesterday"],
    ["2026-03-05T12:00:00Z", "5 days ago"],
    ["2026-03-03T12:00:00Z", "2026-03-03"],
    ["2026-03-11T12:00:00Z", "now"],
  ] as const;
  for (const [then, words] of cases) assert.equal(ago(new Date(then), now), words);
});

test("what a page remembers is taken for an id only if it can be one", () => {
  assert.equal(rememberedConversation({ conversation: "2026-03-10-abc_1" }), "2026-03-10-abc_1");
  for (const state of [undefined, null, "a", {}, { conversation: 1 }, { conversation: "" }, { conversation: "../../etc" }, { conversation: "a".repeat(101) }]) {
    assert.equal(rememberedConversation(state), "");
  }
});
