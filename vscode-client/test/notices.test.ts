import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { openPlace } from "../src/chat/opening";
import { showError, showInfo, showUntil, showWarning } from "../src/common/notices";
import { type OpenQuestion, Questions } from "../src/review/questions";
import { announceQuestions, runShown } from "../src/review/approvals";
import { EventEmitter, window } from "./support/vscode";

const LINK = "[all is well](command:workbench.action.quit)";

/** What VS Code was told to show; the user presses the last button. */
function shown() {
  const told: string[] = [];
  const show = async (text: string, ...rest: (string | { detail?: string })[]) => {
    const [first] = rest;
    told.push(text, ...(typeof first === "object" && first.detail !== undefined ? [first.detail] : []));
    const last = rest.at(-1);
    return typeof last === "string" ? last : undefined;
  };
  const withProgress = async ({ title }: { title: string }) => void told.push(title);
  Object.assign(window, { showInformationMessage: show, showWarningMessage: show, showErrorMessage: show, withProgress });
  return told;
}

test("every notification and dialog goes through one place", () => {
  const source = join(process.cwd(), "src");
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts") && !name.endsWith("notices.ts"));
  assert.ok(files.length > 100);
  const direct = /show(?:Information|Warning|Error)Message|\]\(command:north\.show(?:Waiting|Changes)/;
  assert.deepEqual(files.filter((name) => direct.test(readFileSync(join(source, name), "utf8"))), []);
});

test("nothing in a notification is a link but North's own, and nothing is hidden", async () => {
  const told = shown();
  for (const show of [showInfo, showWarning, showError]) assert.equal(await show(`Done: ${LINK}\u202e`, "Show"), "Show");
  await showUntil(Promise.resolve(), `Asks ${LINK}`, "Show", "showWaiting");
  const harmless = "[all is well] (command:workbench.action.quit)";
  assert.deepEqual(told, [...Array<string>(3).fill(`Done: ${harmless}<U+202E>`), `Asks ${harmless} [Show](command:north.showWaiting)`]);
});

test("a place of an answer that cannot be opened is told without its links", async () => {
  const told = shown();
  await openPlace(`/${LINK}`, null, async () => false);
  assert.ok(told[0]?.startsWith("/[all is well] (command:"), told[0]);
});

test("a dialog shows its text as it is, but for what cannot be seen", async () => {
  const told = shown();
  await showWarning("Run?", { modal: true, detail: "echo [a](b)\u200b" }, "Run");
  assert.deepEqual(told, ["Run?", "echo [a](b)<U+200B>"]);
});

/** A command that waits for the user, and what was chosen. */
function asked(command: string) {
  const chosen: string[] = [];
  const question = { kind: "command", command, title: command, details: [], diffs: [], options: [], done: Promise.resolve() } as unknown as OpenQuestion;
  const asking = new EventEmitter<OpenQuestion>();
  const questions = { open: [question], onAsk: asking.event, chooseKind: (_: OpenQuestion, kind: string) => chosen.push(kind) } as unknown as Questions;
  let opened = 0;
  return { questions, chosen, ask: () => asking.fire(question), run: () => runShown(questions, async () => void (opened += 1)), opened: () => opened };
}

test("a command that reads differently from what runs is not approved in a dialog: the chat marks what cannot be seen", async () => {
  const told = shown();
  const plain = asked("make test");
  await plain.run();
  assert.deepEqual([plain.chosen, plain.opened()], [["allow_once"], 0]);
  told.length = 0;
  for (const command of ["rm -rf \u202e# tset\u202c", "ma\u200bke", "a\r\nb"]) {
    const { run, chosen, opened } = asked(command);
    await run();
    assert.deepEqual([chosen, opened()], [[], 1]);
  }
  assert.equal(told.length, 3);
});

test("the notification of a command marks what cannot be seen, too", () => {
  const told = shown();
  const { questions, ask } = asked("rm \u202e[x](command:y)");
  announceQuestions(questions, () => undefined);
  ask();
  assert.deepEqual(told, ["North asks to run rm <U+202E>[x] (command:y) [Show](command:north.showWaiting)"]);
});
