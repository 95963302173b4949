/** The commands that decide a proposal piece by piece: at the cursor, or what a button, a lens or a row of the list names. */

import * as vscode from "vscode";

import { registerAll, registrar, type Run } from "../common/registering";
import type { Decision, Proposals, Target } from "./proposals";
import type { OpenQuestion } from "./questions";
import { documentIn, openAll, shownIn } from "./tabs";

export function registerReviewCommands(proposals: Proposals, log: vscode.LogOutputChannel): vscode.Disposable {
  /** What the argument names, else where the cursor is. */
  const found = (argument: unknown): ReturnType<Proposals["find"]> =>
    argument instanceof vscode.Uri || isTarget(argument) ? proposals.find(argument) : proposals.active();
  const decideFile = (decision: Decision) => async (argument: unknown) => {
    const file = found(argument);
    if (file !== undefined) await proposals.decideFile(file, decision);
  };
  const decideHunk = (decision: Decision) => async (argument: unknown) => {
    const file = found(argument);
    if (file !== undefined) await proposals.decideHunk(file, isTarget(argument) ? argument.hunk : undefined, decision);
  };
  const onEdit = async (act: (question: OpenQuestion) => Promise<void>): Promise<void> => {
    const question = proposals.current();
    if (question !== undefined) await act(question);
  };
  const commands: Record<string, Run> = {
    acceptAll: () => onEdit((question) => proposals.accept(question)),
    rejectAll: () => onEdit((question) => proposals.reject(question)),
    acceptFile: decideFile("accepted"),
    rejectFile: decideFile("rejected"),
    reopenFile: decideFile("open"),
    acceptHunk: decideHunk("accepted"),
    rejectHunk: decideHunk("rejected"),
    reopenHunk: decideHunk("open"),
    nextHunk: () => proposals.go(1),
    previousHunk: () => proposals.go(-1),
    showFileChanges: async (argument) => {
      const file = found(argument);
      if (file !== undefined) await proposals.showFile(file);
    },
    showAllChanges: async () => {
      const question = proposals.current();
      const review = proposals.open.find((one) => one.question === question);
      if (review !== undefined && review.shown.length > 0) await openAll(review);
    },
  };
  return vscode.Disposable.from(registerAll(commands, registrar(log)), keepContext(proposals));
}

/** Anybody can run a command with any argument. */
function isTarget(argument: unknown): argument is Target {
  if (typeof argument !== "object" || argument === null || !("question" in argument) || !("path" in argument)) return false;
  const { question, path } = argument;
  return typeof question === "string" && typeof path === "string" && (!("hunk" in argument) || typeof argument.hunk === "string");
}

function keepContext(proposals: Proposals): vscode.Disposable {
  const update = (): void => {
    const files = proposals.open.reduce((sum, review) => sum + review.files.length, 0);
    const active = proposals.active();
    const set = (key: string, value: boolean) => void vscode.commands.executeCommand("setContext", `north.${key}`, value);
    const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
    set("inProposal", active !== undefined);
    set("allShown", shownIn(tab) !== undefined && documentIn(tab) === undefined);
    set("severalFiles", files > 1);
    set("textsProposed", proposals.open.some((review) => review.shown.length > 1));
  };
  update();
  return vscode.Disposable.from(
    proposals.onChange(update),
    vscode.window.onDidChangeActiveTextEditor(update),
    vscode.window.tabGroups.onDidChangeTabs(update),
  );
}
