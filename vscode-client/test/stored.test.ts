import assert from "node:assert/strict";
import { test } from "node:test";

import { ago, rememberedConversation, storedConversations } from "../src/chat/stored";

const is = (here: string) => (folder: string) => folder === here;
const now = new Date("2026-03-10T12:00:00Z");

test("a conversation without a title has a name all the same, and says where it is open", () => {
  const rows = [
    { sessionId: "a", name: "Rename greet", updatedAt: "2026-03-10T11:30:00Z" },
    { sessionId: "b", name: "  ", updatedAt: null },
    { sessionId: "c", name: null, updatedAt: "nonsense" },
  ];
  const found = storedConversations(rows, new Map([["b", "in a tab"]]), now, is(""));
  const plain = { snippet: "", folder: "", isHere: true, archived: false };
  assert.deepEqual(found, [
    { id: "a", title: "Rename greet", facts: "30 min ago", ...plain },
    { id: "b", title: "Untitled", facts: "in a tab", ...plain },
    { id: "c", title: "Untitled", facts: "", ...plain },
  ]);
});

test("a row says how long it is, what it cost, who answered, and what it is about if that is another folder", () => {
  const row = { sessionId: "a", name: "A", updatedAt: "2026-03-10T11:00:00Z", messageCount: 4, costUsd: 0.125, model: "anthropic/opus", archived: true, cwd: "/other" };
  const facts = (more: object, here = ""): string | undefined => storedConversations([{ ...row, ...more }], new Map(), now, is(here))[0]?.facts;
  assert.equal(facts({}), "archived · 1 h ago · 4 messages · $0.13 · opus · /other");
  assert.equal(facts({ costUsd: 0.001, archived: false }, "/other"), "1 h ago · 4 messages · <$0.01 · opus");
  assert.equal(facts({ costUsd: 0, archived: false, model: null }, "/other"), "1 h ago · 4 messages");
});

test("a row says whether it is about the folder that is open", () => {
  const isHere = (cwd: string): boolean | undefined => storedConversations([{ sessionId: "a", cwd }], new Map(), now, is("/here"))[0]?.isHere;
  assert.deepEqual([isHere("/here"), isHere("/other"), isHere("")], [true, false, true]);
});

test("the words that were found are shown unless the title has them", () => {
  const found = (place: string): string | undefined => storedConversations([{ sessionId: "a", match: { place, snippet: "a needle" } }], new Map(), now, is(""))[0]?.snippet;
  assert.equal(found("text"), "a needle");
  assert.equal(found("title"), "");
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
