import { div } from "./support/page";

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Item, ToolItem } from "../src/messages";
import type { Actions } from "../src/webview/rows";
import { fill } from "../src/webview/views";

const called: string[] = [];
const note = (name: string) => (...parts: unknown[]) => void called.push([name, ...parts].join(" "));
const actions: Actions = {
  open: note("open"), openDiff: note("openDiff"), decide: note("decide"), fill: note("fill"), review: note("review"), retry: note("retry"), showTerminal: note("showTerminal"), showWhole: note("showWhole"), afterFailure: note("afterFailure"), onPrompt: note("onPrompt"), onTask: note("onTask"),
};

function shown(item: Item): { row: HTMLElement; show: (item: Item) => void } {
  const row = div();
  const show = fill(row, item, actions);
  show(item);
  return { row, show };
}

function click(one: Element | null | undefined): void {
  assert.ok(one);
  one.dispatchEvent(new (document.defaultView as Window & typeof globalThis).Event("click"));
}

const tool: ToolItem = { kind: "tool", id: "tool:c", title: "Running `npm test`", does: "execute", status: "in_progress", input: [], parts: [] };
const output = (text: string): ToolItem["parts"] => [{ kind: "text", text, code: true }];
const details = (row: HTMLElement) => row.querySelector<HTMLElement>(".details");

test("output is open while it comes, goes on in its element, and is folded when it is over", () => {
  const { row, show } = shown({ ...tool, parts: output("one") });
  assert.equal(details(row)?.hidden, false);
  const block = row.querySelector(".output .code");
  show({ ...tool, parts: output("one\ntwo") });
  assert.equal(row.querySelector(".output .code"), block);
  assert.equal(row.querySelector("code")?.textContent, "one\ntwo");
  show({ ...tool, status: "completed", parts: output("one\ntwo\nthree") });
  assert.equal(details(row)?.hidden, true);
  click(row.querySelector(".icon"));
  assert.equal(details(row)?.hidden, false);
  assert.equal(row.querySelector("code")?.textContent, "one\ntwo\nthree");
});

test("what the user has folded or opened stays so", () => {
  const { row, show } = shown({ ...tool, parts: output("one") });
  click(row.querySelector(".icon"));
  show({ ...tool, parts: output("one\ntwo") });
  assert.equal(details(row)?.hidden, true);
  click(row.querySelector(".icon"));
  show({ ...tool, status: "completed", parts: output("x") });
  assert.equal(details(row)?.hidden, false);
});

test("what a search has found are links to the places, what was read is a text", () => {
  const found: ToolItem = { ...tool, does: "search", status: "completed", parts: output("src/a.py:12: x = `1`\nb c.txt:3: y:4\n… 3 more") };
  const { row } = shown(found);
  click(row.querySelector(".icon"));
  const links = [...row.querySelectorAll<HTMLElement>(".found a")].map(({ dataset, textContent }) => [dataset.path, dataset.line, textContent]);
  assert.deepEqual(links, [["src/a.py", "12", "src/a.py:12"], ["b c.txt", "3", "b c.txt:3"]]);
  assert.equal([...row.querySelectorAll(".found div")].map((line) => line.textContent).join("\n"), output("src/a.py:12: x = `1`\nb c.txt:3: y:4\n… 3 more").map((part) => part.kind === "text" && part.text)[0]);
  const files = shown({ ...found, parts: output("src/a.py\nREADME.md\nb.py: 3\nno place") }).row;
  click(files.querySelector(".icon"));
  assert.deepEqual([...files.querySelectorAll<HTMLElement>(".found a")].map(({ dataset }) => dataset.path), ["src/a.py", "README.md", "b.py"]);
  for (const other of [{ ...found, does: "execute" }, { ...found, parts: output(" 9  see a.py:3: x\n10  y: z") }]) {
    const text = shown(other).row;
    click(text.querySelector(".icon"));
    assert.equal(text.querySelectorAll(".found").length, 0);
  }
});

test("a failed call says why, and its mark is said in words", () => {
  const { row } = shown({ ...tool, status: "failed", parts: output("nope.py is no file") });
  assert.equal(row.querySelector(".reason")?.textContent, "nope.py is no file");
  assert.equal(row.querySelector(".call")?.textContent, "failed: Running npm test");
});

test("a command that failed says its exit code and its last lines, without what is told to the model alone", () => {
  const printed = `${Array.from({ length: 9 }, (_, index) => `line ${index}`).join("\n")}\n\n-----\nFAILED\nexit code 2\n(the last 20 of 43 lines)\nComplete output: artifact://1`;
  const { row, show } = shown({ ...tool, status: "failed", exitCode: 2, parts: output(printed) });
  assert.equal(row.querySelector(".reason")?.textContent, "line 6\nline 7\nline 8\nFAILED");
  assert.equal(row.querySelector(".note")?.textContent, "exit code 2");
  show({ ...tool, status: "completed", exitCode: 0, parts: output("fine") });
  assert.equal(row.querySelector(".note")?.textContent, "");
  assert.equal(row.querySelector<HTMLElement>(".reason")?.hidden, true);
});

test("an output of which there is a part offers all of it", () => {
  const { row } = shown({ ...tool, status: "completed", parts: output("end"), shortened: "The model got 20 of 43 lines.", artifact: "1" });
  click(row.querySelector(".icon"));
  click([...row.querySelectorAll("button")].find((one) => one.textContent === "Show the Whole Output"));
  assert.equal(called.pop(), "showWhole 1");
});

test("a call opens its file, one without a file opens itself", () => {
  const { row } = shown({ ...tool, status: "completed", file: "/r/a.py", line: 3, parts: output("x") });
  click(row.querySelector(".call"));
  assert.deepEqual(called.splice(0), ["open /r/a.py 3"]);
  const other = shown({ ...tool, status: "completed", parts: output("x") }).row;
  click(other.querySelector(".call"));
  assert.equal(details(other)?.hidden, false);
});

test("an applied edit is counted, and its lines and its diff are there later", () => {
  const diff: ToolItem["parts"][number] = {
    kind: "diff", path: "/r/a.py", name: "a.py", change: "update", added: 1, removed: 1, left: 2, preview: false,
    hunks: [{ line: 4, lines: [" x", "-<b>old</b>", "+new"] }],
  };
  const { row } = shown({ ...tool, status: "completed", parts: [diff] });
  assert.equal(row.querySelector(".counts")?.textContent, "+1−1");
  click(row.querySelector(".icon"));
  assert.deepEqual([...row.querySelectorAll(".hunk span")].map((line) => [line.className, line.textContent]), [
    ["same", " x\n"], ["removed", "-<b>old</b>\n"], ["added", "+new\n"],
  ]);
  click(row.querySelector(".diff .icon"));
  click(row.querySelector(".diff .name"));
  assert.deepEqual(called.splice(0), ["openDiff tool:c 0", "open /r/a.py 4"]);
});

test("a preview is in view while it is written", () => {
  const diff: ToolItem["parts"][number] = {
    kind: "diff", path: "/r/a.py", name: "a.py", change: "update", added: 1, removed: 0, left: 0, preview: true, hunks: [{ line: 9, lines: ["+new"] }],
  };
  const { row, show } = shown({ ...tool, status: "pending", parts: [diff] });
  assert.equal(details(row)?.hidden, false);
  show({ ...tool, status: "pending", parts: [{ ...diff, preview: false }] });
  assert.equal(details(row)?.hidden, true);
});

test("the wait's buttons are the same ones at each tick, so that they keep the focus", () => {
  const wait: Item = { kind: "retry", cause: "limited", id: "r", state: "waiting", failures: 1, seconds: 5, reason: "slow down" };
  const { row, show } = shown(wait);
  const [now] = row.querySelectorAll("button");
  show({ ...wait, seconds: 4 });
  assert.equal(row.querySelectorAll("button")[0], now);
  assert.match(row.textContent ?? "", /Trying again in 4 s\.slow down/);
  show({ ...wait, state: "over", failures: 3 });
  assert.equal(row.querySelector<HTMLElement>(".buttons")?.hidden, true);
  assert.match(row.textContent ?? "", /3 times, and was asked again\./);
});

test("a wait says what failed", () => {
  const wait: Item = { kind: "retry", id: "r", state: "waiting", cause: "network", failures: 1, seconds: 5, reason: "" };
  const words = (item: Item) => shown(item).row.querySelector(".retry-words")?.textContent;
  assert.equal(words(wait), "The model could not be reached. Trying again in 5 s.");
  assert.equal(words({ ...wait, cause: "limited", state: "over" }), "The provider limited the requests, and was asked again.");
  assert.equal(words({ ...wait, cause: "overloaded", failures: 2, state: "stopped" }), "The model was overloaded 2 times. Gave up.");
});

test("what was decided is one line, and what was asked is there when it is opened", () => {
  const question: Item = {
    kind: "command", id: "q", title: "Run it", heading: "North asks to run this command", markdown: "```sh\nnpm test\n```\n\nIn /repo.", options: [], hasDiff: false,
  };
  const { row, show } = shown(question);
  assert.equal(row.textContent, "Waits for your decision below");
  show({ ...question, decision: "Run" });
  assert.equal(row.textContent, "You chose: Run");
  const fold = row.querySelector("details");
  assert.equal(fold?.hasAttribute("open"), false);
  if (fold != null) fold.open = true;
  fold?.dispatchEvent(new (document.defaultView as Window & typeof globalThis).Event("toggle"));
  assert.equal(row.querySelector(".decided-body code")?.textContent, "npm test");
  const edit = shown({ ...question, kind: "edit", markdown: "", decision: "Accept" }).row;
  assert.equal(edit.querySelector("details"), null);
  assert.equal(edit.textContent, "You chose: Accept");
  assert.equal(shown({ ...question, kind: "choice", heading: "Go on?", markdown: "", decision: "Yes" }).row.textContent, "Go on? — Yes");
});

test("a failure has its ways out", () => {
  const { row } = shown({ kind: "failure", id: "f", text: "the key was refused", actions: ["storeKey", "again"] });
  for (const one of row.querySelectorAll("button")) click(one);
  assert.deepEqual(called.splice(0), ["afterFailure storeKey", "afterFailure again"]);
});

test("thoughts stay open while they go on", () => {
  const { row, show } = shown({ kind: "thought", id: "t", markdown: "one" });
  const fold = row.querySelector("details");
  assert.ok(fold);
  fold.open = true;
  show({ kind: "thought", id: "t", markdown: "one two" });
  assert.equal(row.querySelector("details"), fold);
  assert.equal(row.querySelector(".thoughts")?.textContent, "one two");
});

test("a long prompt is folded, a short one is not", () => {
  const long = shown({ kind: "user", id: "1", text: "line\n".repeat(40) }).row;
  assert.ok(long.querySelector(".folded"));
  click(long.querySelector(".fold-long"));
  assert.equal(long.querySelector(".folded"), null);
  assert.equal(shown({ kind: "user", id: "2", text: "short" }).row.querySelector("button"), null);
});

test("what can be done with a message, once it is an entry", () => {
  const { row, show } = shown({ kind: "user", id: "1", text: "Change one" });
  assert.equal(row.querySelectorAll(".acts button").length, 0);
  for (let times = 0; times < 2; times += 1) show({ kind: "user", id: "1", text: "Change one", entry: "e1" });
  const buttons = [...row.querySelectorAll<HTMLElement>(".acts button")];
  assert.deepEqual(buttons.map((one) => one.getAttribute("aria-label")), ["Edit and Resend", "Rewind to Here…", "Branch from Here"]);
  called.length = 0;
  for (const one of buttons) click(one);
  assert.deepEqual(called, ["onPrompt e1 edit", "onPrompt e1 rewind", "onPrompt e1 branch"]);
  assert.deepEqual(JSON.parse(row.dataset.vscodeContext ?? ""), { northPrompt: "e1" });
});

test("a summary is stopped while it is written, and unfolds when it is there", () => {
  const summary: Item = { kind: "summary", id: "summary:c", compaction: "c", state: "in_progress", text: "being summarized", markdown: "", files: [] };
  const { row, show } = shown(summary);
  const folded = row.querySelector("details");
  assert.equal(folded?.hidden, true);
  assert.deepEqual([...row.querySelectorAll(".buttons button")].map((one) => one.textContent), ["Stop"]);
  show({ ...summary, state: "completed", text: "was summarized", markdown: "The **goal**", files: ["a.py (read)"] });
  assert.equal(row.querySelector(".summary-line")?.textContent, "was summarized");
  assert.deepEqual([...row.querySelectorAll(".buttons button")].map((one) => one.textContent), ["Show what it replaced"]);
  assert.equal(folded?.hidden, false);
  assert.ok(folded);
  folded.open = true;
  folded.dispatchEvent(new (document.defaultView as Window & typeof globalThis).Event("toggle"));
  assert.equal(row.querySelector(".summary-body strong")?.textContent, "goal");
  assert.equal(row.querySelector(".summary-body li")?.textContent, "a.py (read)");
});

test("the tasks of agents are rows whose conversations open, and those that work can be cancelled", () => {
  const rows = [
    { id: "0-a", agent: "explore", status: "in_progress" as const, state: "working", doing: "Searching", tokens: "1,200 tokens" },
    { id: "1-b", agent: "task", status: "failed" as const, state: "failed", doing: "", tokens: "" },
  ];
  const { row } = shown({ ...tool, title: "Agents at work: explore, task", parts: [{ kind: "tasks", rows }] });
  assert.equal(details(row)?.hidden, false);
  const lines = [...row.querySelectorAll(".task")];
  assert.deepEqual(lines.map((line) => line.textContent), ["explore: workingSearching1,200 tokens", "task: failedfailed"]);
  called.length = 0;
  click(lines[0]?.querySelectorAll("button")[1]);
  click(lines[1]?.querySelector("button"));
  assert.equal(lines[1]?.querySelectorAll("button").length, 1);
  assert.deepEqual(called, ["onTask 0-a cancel", "onTask 1-b open"]);
});
