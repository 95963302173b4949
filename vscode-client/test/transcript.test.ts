import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import type { ToolContent, ToolStatus, Update } from "../src/acp";
import { titleOf } from "../src/chat/titles";
import { Transcript } from "../src/chat/transcript";
import type { Item, Question, ToPage } from "../src/messages";

function after(...updates: Update[]): Transcript {
  const transcript = new Transcript((path) => path.replace("/repo/", ""));
  for (const update of updates) transcript.take(update);
  return transcript;
}

function only<Kind extends Item["kind"]>(transcript: Transcript, kind: Kind): Extract<Item, { kind: Kind }> {
  const found = transcript.all().filter((item) => item.kind === kind);
  assert.equal(found.length, 1);
  return found[0] as Extract<Item, { kind: Kind }>;
}

const says = (text: string, messageId = "m"): Update => ({ sessionUpdate: "agent_message_chunk", messageId, content: { type: "text", text } });
const called = (more: object): Update => ({ sessionUpdate: "tool_call_update", toolCallId: "c", ...more });
const content = (text: string) => ({ type: "content", content: { type: "text", text } });

test("a message goes on in its row until something else comes", () => {
  const transcript = after(says("a"), says("b"), called({ title: "x" }), says("c"));
  assert.deepEqual(transcript.all().map((item) => (item.kind === "answer" ? item.markdown : item.kind)), ["ab", "tool", "c"]);
});

test("a chunk is told as what it adds", () => {
  const transcript = after(says("a"));
  const told: ToPage[] = [];
  transcript.onChange((message) => told.push(message));
  transcript.take(says("b"));
  assert.deepEqual(told.map((message) => message.type === "append" && message.markdown), ["b"]);
});

test("a call keeps what an update does not tell", () => {
  const transcript = after(
    { sessionUpdate: "tool_call", toolCallId: "c", title: "Reading a", kind: "read", status: "pending", _meta: { north: { group: "g" } } },
    called({ rawInput: { path: "a.py", lines: [1, 2] }, locations: [{ path: "/repo/a.py", line: 3 }] }),
    called({ status: "failed", content: [content("a.py is no file")] }),
  );
  assert.deepEqual(only(transcript, "tool"), {
    kind: "tool", id: "tool:c", title: "Reading a", does: "read", status: "failed", group: "g", file: "/repo/a.py", line: 3,
    input: [{ name: "path", value: "a.py" }, { name: "lines", value: "[\n 1,\n 2\n]" }],
    parts: [{ kind: "text", text: "a.py is no file", code: true }],
  });
});

test("a call's title says whether it waits, runs or is done; one that is not known stays as it is", () => {
  const title = (told: string, status: ToolStatus) => only(after(called({ title: told }), called({ status })), "tool").title;
  assert.equal(title("Reading a.py", "completed"), "Read a.py");
  assert.equal(title("Reading a.py", "failed"), "Reading a.py");
  assert.equal(title("Applying 4 edits", "pending"), "Apply 4 edits");
  assert.equal(title("Applying 4 edits", "in_progress"), "Applying 4 edits");
  assert.equal(title("Running npm test", "failed"), "Run npm test");
  assert.equal(title("Searching \"x\" - 1 matches", "completed"), "Searched \"x\" - 1 matches");
  assert.equal(title("Running Reading", "completed"), "Ran Reading");
  for (const other of ["Compiling a", "Reading", "Edited a.py", ""]) assert.equal(title(other, "completed"), other);
});

test("a call is told by the title of its state, whichever update said it", () => {
  const transcript = after(called({ title: "Running npm test", status: "pending" }));
  assert.equal(only(transcript, "tool").title, "Run npm test");
  for (const [status, title] of [["in_progress", "Running npm test"], ["completed", "Ran npm test"]] as const) {
    transcript.take(called({ status }));
    assert.equal(only(transcript, "tool").title, title);
  }
});

test("the lines that an edit changes are not said twice", () => {
  const diff = { type: "diff", path: "/repo/a.py", oldText: "a\n", newText: "b\n" } as const;
  const title = (...content: ToolContent[]) => only(after(called({ title: "Applying 4 edits (+7/-15)", status: "completed", content })), "tool").title;
  assert.equal(title(diff), "Applied 4 edits");
  assert.equal(title(), "Applied 4 edits (+7/-15)");
});

test("that the user stopped is told once, by whoever is first", () => {
  const stop: Update = { sessionUpdate: "notice", severity: "info", title: "Stopped.", _meta: { north: { stopped: true } } };
  const transcript = after(says("a"), stop);
  transcript.stopped();
  assert.deepEqual(transcript.all().map((item) => (item.kind === "notice" ? item.text : item.kind)), ["answer", "Stopped."]);
  transcript.say("go on");
  transcript.take(stop);
  assert.equal(transcript.all().filter((item) => item.kind === "notice").length, 2);
});

test("a wait says what failed, as far as the server tells", () => {
  const waits = (kind?: string): Update => called({ status: "in_progress", _meta: { north: { retry: { remainingMs: 900, reason: "x", ...(kind ? { kind } : {}) } } } });
  const causes = [undefined, "network", "rate_limit", "overloaded", "whatever"].map((kind) => only(after(waits(kind)), "retry").cause);
  assert.deepEqual(causes, ["other", "network", "limited", "overloaded", "other"]);
  assert.equal(only(after(waits("rate_limit"), waits()), "retry").cause, "limited");
});

test("output is what stands between the fences; the last is shown", () => {
  const transcript = after(called({ content: [content("```\none\n```")] }), called({ content: [content("````\none\n```\ntwo\n````")] }));
  assert.deepEqual(only(transcript, "tool").parts, [{ kind: "text", text: "one\n```\ntwo", code: true }]);
});

test("a text of several lines is Markdown", () => {
  assert.deepEqual(only(after(called({ content: [content("a\n\n- b")] })), "tool").parts, [{ kind: "text", text: "a\n\n- b", code: false }]);
});

test("an edit keeps its texts for the diff editor, also beside words", () => {
  const diff = { type: "diff", path: "/repo/a.py", oldText: "1\n", newText: "2\n" };
  const gone = { type: "diff", path: "/repo/b.py", oldText: "3\n", newText: "", _meta: { north: { kind: "delete" } } };
  const transcript = after(called({ status: "completed", content: [diff, content("Deletes b.py"), gone] }));
  const item = only(transcript, "tool");
  assert.deepEqual(item.parts.map((part) => (part.kind === "diff" ? [part.name, part.change, part.added, part.removed] : part.kind === "text" ? part.text : part.kind)), [
    ["a.py", "update", 1, 1], "Deletes b.py", ["b.py", "delete", 0, 1],
  ]);
  assert.equal(transcript.diff(item.id, 2)?.path, "/repo/b.py");
  assert.equal(transcript.diff(item.id, 1), undefined);
});

test("how much the model got", () => {
  const transcript = after(called({ _meta: { north: { truncation: { totalLines: 900, outputLines: 80 } } } }));
  assert.equal(only(transcript, "tool").shortened, "The model got 80 of 900 lines.");
});

test("waits that follow each other are one row, with its reason", () => {
  const wait = (toolCallId: string, status: string, title: string, remainingMs = 0): Update =>
    called({ toolCallId, status, title, _meta: { north: { retry: { attempt: 1, maxAttempts: 5, remainingMs } } } });
  const transcript = after(
    wait("retry-1", "in_progress", "Trying again in 3 s (1 of 5): Anthropic: 529", 3_000),
    wait("retry-1", "completed", "Tried again (1 of 5): Anthropic: 529"),
    wait("retry-2", "in_progress", "Trying again in 20 s (2 of 5): slow down", 20_000),
  );
  const { id, ...row } = only(transcript, "retry");
  assert.deepEqual(row, { kind: "retry", state: "waiting", cause: "other", failures: 2, seconds: 20, reason: "slow down" });
  transcript.take(wait("retry-2", "completed", "Tried again (2 of 5): slow down"));
  assert.equal(only(transcript, "retry").state, "over");
  transcript.take(says("Here it is."));
  transcript.take(wait("retry-3", "in_progress", "Trying again in 1 s (1 of 5): gone"));
  assert.equal(transcript.all().filter((item) => item.kind === "retry").length, 2);
});

test("a failure is no answer, and says what can be done", () => {
  const failure = (kind: string): Update => ({
    ...says("**The request failed:** the key was refused"),
    _meta: { north: { failure: { text: "the key was refused", kind } } },
  } as Update);
  assert.deepEqual(only(after(failure("auth")), "failure"), {
    kind: "failure", id: "1", text: "the key was refused", actions: ["storeKey", "switchModel", "again"],
  });
  assert.deepEqual(only(after(failure("network")), "failure").actions, ["again", "switchModel"]);
  const later = after(failure(""));
  assert.deepEqual(only(later, "failure").actions, ["again", "storeKey", "switchModel"]);
  later.classify("network");
  assert.deepEqual(only(later, "failure").actions, ["again", "switchModel"]);
});

test("a todo list has no row: it is pinned", () => {
  const transcript = after({ sessionUpdate: "plan", entries: [{ content: "a" }], _meta: { north: { phases: [] } } }, says("x"));
  assert.deepEqual(transcript.all().map((item) => item.kind), ["answer"]);
});

test("a plan is changed where it stands, and the next turn has its own", () => {
  const plan = (content: string): Update => ({ sessionUpdate: "plan", entries: [{ content, status: "in_progress" }] });
  const transcript = after(plan("a"), says("x"), plan("b"));
  assert.deepEqual(transcript.all().map((item) => item.kind), ["plan", "answer"]);
  assert.deepEqual(only(transcript, "plan").entries, [{ text: "b", status: "in_progress" }]);
  transcript.say("next");
  transcript.take(plan("c"));
  assert.equal(transcript.all().filter((item) => item.kind === "plan").length, 2);
});

test("a command that runs in a terminal says so", () => {
  assert.deepEqual(only(after(called({ status: "in_progress", content: [{ type: "terminal", terminalId: "t" }] })), "tool").parts, [{ kind: "terminal" }]);
});

test("kinds of updates and contents that are not known are left out", () => {
  const transcript = after({ sessionUpdate: "from_the_future" } as unknown as Update, called({ content: [{ type: "hologram" }] }));
  assert.deepEqual(only(transcript, "tool").parts, []);
});

test("the last prompt is found for another try", () => {
  const transcript = after(says("x"));
  assert.equal(transcript.lastPrompt(), undefined);
  transcript.say("first");
  transcript.say("second");
  transcript.take(says("y"));
  assert.equal(transcript.lastPrompt(), "second");
});

test("a message is an entry from the beginning of its turn on, or because the server shows it", () => {
  const transcript = after({ sessionUpdate: "user_message_chunk", messageId: "e1", content: { type: "text", text: "one" } });
  const entries = () => transcript.all().flatMap((item) => (item.kind === "user" ? [item.entry] : []));
  assert.deepEqual(entries(), ["e1"]);
  transcript.say("two");
  assert.deepEqual(entries(), ["e1", undefined]);
  transcript.began("e2");
  assert.deepEqual(entries(), ["e1", "e2"]);
  transcript.began("e3"); // the next one, whose turn begins before it is shown
  transcript.say("three");
  assert.deepEqual(entries(), ["e1", "e2", "e3"]);
  assert.ok(transcript.has("e2"));
  transcript.began("e0"); // of something that is shown otherwise
  transcript.ended();
  transcript.say("not yet");
  transcript.began("e4");
  assert.deepEqual(entries(), ["e1", "e2", "e3", "e4"]);
  transcript.began("e5");
  transcript.clear();
  transcript.say("four");
  assert.deepEqual(entries(), [undefined]);
});

test("the titles of all tools that the server has are said as done, once they are", () => {
  const folder = "../north_lsp/tools";
  const sources = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".py")).map((name) => readFileSync(join(folder, name), "utf8"));
  const words = new Set(sources.flatMap((text) => [...text.matchAll(/(?:return (?:one_line\()?|title = |"\w+": )f?"([A-Z][a-z]+ing:?) /g)].map((match) => match[1] ?? "")));
  assert.ok(words.size > 15, `${[...words]}`);
  const unknown = [...words].filter((word) => titleOf(`${word} it`, "completed") === `${word} it` && word !== "Nothing");
  assert.deepEqual(unknown, []);
});

test("what is still asked stays when another conversation is shown, and can be decided; what was decided goes", () => {
  const told: ToPage[] = [];
  const transcript = after(says("a"));
  const question: Question = { kind: "command", id: "question:1", title: "t", heading: "h", markdown: "", options: [], hasDiff: false };
  transcript.put(question);
  transcript.put({ ...question, id: "question:2", decision: "Run" });
  transcript.onChange((message) => told.push(message));
  transcript.clear();
  assert.deepEqual(transcript.all(), [question]);
  assert.deepEqual(told, [{ type: "all", items: [question] }]);
  transcript.put({ ...question, decision: "Run" });
  transcript.clear();
  assert.deepEqual(transcript.all(), []);
});
