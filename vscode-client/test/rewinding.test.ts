import assert from "node:assert/strict";
import { test } from "node:test";

import { window } from "./support/vscode";
import type { PromptBlock } from "../src/acp";
import { rowOf } from "../src/chat/branches";
import { Rewinding, wordsOf } from "../src/chat/rewinding";

const text = (words: string): PromptBlock => ({ type: "text", text: words });
let offersSummary = false;
interface File {
  path: string;
  outcome: string;
}

/** A server with these files to restore, and a user who chooses `answers`, one after the other. */
function world(files: File[], ...answers: (string | undefined)[]) {
  const asked: object[] = [];
  const questions: string[] = [];
  const restored: string[] = [];
  const opened: string[] = [];
  let shown = 0;
  const dialogs = { showWarningMessage: async (question: string) => (questions.push(question), answers.shift()), setStatusBarMessage: () => undefined };
  Object.assign(window, dialogs);
  const session = {
    id: "s1",
    chosen: 0,
    async ask<Result>(method: string, params: object): Promise<Result> {
      asked.push({ method: method.replace("_north/sessions/", ""), ...params });
      const rewound = { files, moved: true, prompt: [text("one")], offersSummary };
      const result = method.endsWith("branch") ? { sessionId: "copy", prompt: [text("one")] } : rewound;
      return result as Result; // what this server answers
    },
  };
  const rewinding = new Rewinding(
    session,
    (words) => restored.push(words.text),
    () => (shown += 1),
    async (id, words) => void opened.push(`${id} ${words.text}`),
    () => undefined,
  );
  return { rewinding, session, asked, questions, restored, opened, shown: () => shown };
}

const CHANGED = [{ path: "a.py", outcome: "restored" }];

test("a message is edited in the input, and nothing is done before it is sent", async () => {
  const { rewinding, asked, restored, questions, shown } = world(CHANGED, undefined, "Conversation Only");
  assert.equal(await rewinding.beforeSending(), true);
  assert.deepEqual(asked, []);
  await rewinding.act("e1", "edit");
  assert.deepEqual(restored, ["one"]);
  assert.equal(rewinding.editing, "e1");
  assert.equal(await rewinding.beforeSending(), false); // no answer
  assert.equal(rewinding.editing, "e1");
  assert.equal(await rewinding.beforeSending(), true);
  assert.equal(rewinding.editing, "");
  assert.deepEqual(questions, ["Restore the files as they were, too?", "Restore the files as they were, too?"]);
  const look = { method: "rewind", entryId: "e1", dryRun: true };
  assert.deepEqual(asked, [look, look, look, { method: "rewind", entryId: "e1", what: "conversation" }]);
  assert.equal(shown(), 1);
  assert.deepEqual(restored, ["one"]); // it is sent, not given back
});

test("a message is edited in its own conversation only", async () => {
  const { rewinding, session, asked } = world([]);
  await rewinding.act("e1", "edit");
  session.id = ""; // the server was started again
  assert.equal(rewinding.editing, "");
  session.id = "s1";
  assert.equal(rewinding.editing, "e1");
  [session.id, session.chosen] = ["s2", 1]; // New Chat
  assert.equal(rewinding.editing, "");
  asked.length = 0;
  assert.equal(await rewinding.beforeSending(), true);
  assert.deepEqual(asked, []);
  session.id = "s1"; // and it is not taken up again
  assert.equal(rewinding.editing, "");
});

test("a message whose conversation was left before the server answered is not edited", async () => {
  const { rewinding, session, restored } = world([]);
  const editing = rewinding.act("e1", "edit");
  [session.id, session.chosen] = ["s2", 1];
  await editing;
  assert.deepEqual([rewinding.editing, restored], ["", []]);
});

test("after a crash a message can be edited before the conversation is loaded again", async () => {
  const { rewinding, session, restored } = world([]);
  session.id = "";
  const editing = rewinding.act("e1", "edit");
  session.id = "s1"; // asking has opened it
  await editing;
  assert.deepEqual([rewinding.editing, restored], ["e1", ["one"]]);
});

test("an edited message whose conversation cannot be loaded again is not sent into another one unsaid", async () => {
  const { rewinding, session, asked } = world([]);
  await rewinding.act("e1", "edit");
  session.id = "s2"; // the user has chosen no other one
  asked.length = 0;
  await assert.rejects(rewinding.beforeSending(), /could not be loaded again/);
  assert.equal(await rewinding.beforeSending(), true);
  assert.deepEqual([asked, rewinding.editing], [[], ""]);
});

test("without changed files nothing is asked", async () => {
  const { rewinding, questions, restored, asked } = world([{ path: "a.py", outcome: "unchanged" }]);
  await rewinding.act("e1", "rewind");
  assert.deepEqual(questions, []);
  assert.deepEqual(asked.at(-1), { method: "rewind", entryId: "e1", what: "conversation" });
  assert.deepEqual(restored, ["one"]);
});

test("files alone leave the conversation and the input", async () => {
  const { rewinding, restored, asked } = world(CHANGED, "Files Only");
  await rewinding.act("e1", "rewind");
  assert.deepEqual(asked.at(-1), { method: "rewind", entryId: "e1", what: "files" });
  assert.deepEqual(restored, []);
});

test("what somebody else changed is lost only if the user insists", async () => {
  const { rewinding, asked, questions } = world([...CHANGED, { path: "b.py", outcome: "conflict" }], "Conversation and Files", "Discard My Later Changes");
  await rewinding.act("e1", "rewind");
  assert.equal(questions[1], "North cannot undo everything.");
  assert.deepEqual(asked.slice(1), [
    { method: "rewind", entryId: "e1", what: "both" },
    { method: "rewind", entryId: "e1", what: "files", conflicts: "overwrite" },
  ]);
});

test("what is left behind is summarized if the user wants that, and not at all if they give up", async () => {
  const picked: (string | undefined)[] = ["No Summary", "Summarize", "Summarize, with Instructions…", "Summarize, with Instructions…", undefined];
  const offered: string[] = [];
  const { rewinding, asked } = world([]);
  Object.assign(window, {
    showQuickPick: async (rows: { label: string }[]) => (offered.push(rows.map(({ label }) => label).join()), rows.find(({ label }) => label === picked[0] && picked.shift() !== undefined)),
    showInputBox: async () => (picked.length > 1 ? " in one word " : undefined),
    withProgress: async (_: object, go: (progress: object, token: object) => Promise<unknown>) => go({}, {}),
  });
  offersSummary = true;
  try {
    for (let count = 0; count < 5; count++) await rewinding.act("e1", "rewind");
  } finally {
    offersSummary = false;
  }
  const gone = { method: "rewind", entryId: "e1", what: "conversation" };
  const summarized = { ...gone, summarize: true };
  assert.deepEqual(asked.filter((one) => !("dryRun" in one)), [gone, summarized, { ...summarized, instructions: "in one word" }]);
  assert.equal(offered.length, 5);
});

test("a branch is opened with the message in its input", async () => {
  const { rewinding, opened } = world([]);
  await rewinding.act("e1", "branch");
  assert.deepEqual(opened, ["copy one"]);
});

test("a message comes back with what was attached to it", () => {
  const link: PromptBlock = { type: "resource_link", uri: "file:///repo/a.py#L3-L5", name: "a.py" };
  const output: PromptBlock = { type: "resource", resource: { uri: "terminal:1", text: "$ make" } };
  const picture: PromptBlock = { type: "image", mimeType: "image/png", data: "" };
  const words = wordsOf([text("one"), link, output, picture]);
  assert.equal(words.text, "one");
  assert.deepEqual(words.attachments.map(({ label }) => label), ["a.py:3-5", "terminal:1", "Picture"]);
  assert.deepEqual(words.attachments.map(({ block }) => block), [link, output, picture]);
});

test("a row of the tree shows its place and its label, and no icons of the message's own", () => {
  const node = { id: "e1", parentId: null, depth: 1, kind: "message", role: "user", text: "echo $(ls)", label: "here", timestamp: "", onPath: true, isLeaf: false };
  assert.equal(rowOf(node, new Date()).label, "\u2003$(circle-small-filled) You: echo $\u200b(ls) $(tag) here");
  assert.equal(rowOf({ ...node, depth: 0, isLeaf: true, role: "assistant" }, new Date()).label, "$(arrow-right) echo $\u200b(ls) $(tag) here");
});
