/** The first page of an empty conversation: examples to begin with, and what is still to be set up. */

import * as vscode from "vscode";

import type { ConfigOption } from "../acp";
import { asksForTrust, remedy } from "../common/problems";
import type { SetupRow, Welcome } from "../messages";
import { isOffline } from "./choices";

export function welcomeOf(options: ConfigOption[]): Welcome {
  return {
    heading: vscode.l10n.t("What can North do for you?"),
    words: vscode.l10n.t("Ask about the code, or for a change. Nothing is written or run before you agree. / has North's commands, @ names files."),
    examplesHeading: vscode.l10n.t("Try"),
    examples: isOffline(options) ? offlineExamples() : examples(),
    setupHeading: vscode.l10n.t("Set up"),
    // What is in the way of starting stands above the input, with its button.
    setup: options.length === 0 ? [] : [...(asksForTrust() ? [trust()] : []), model(options)],
    more: remedy("north.openWalkthrough"),
  };
}

function examples(): string[] {
  return [
    vscode.l10n.t("What does this project do, and where does it begin?"),
    vscode.l10n.t("Look for a bug in the file that I have open"),
    vscode.l10n.t("Write a test for the code that I have selected"),
  ];
}

/** The offline model understands a few requests, in English only. */
function offlineExamples(): string[] {
  return ["list files", "read README.md", "help"];
}

function row(id: SetupRow["id"], done: boolean, words: string, command: Parameters<typeof remedy>[0]): SetupRow {
  return { id, done, words, state: done ? vscode.l10n.t("done") : vscode.l10n.t("to do"), remedy: remedy(command) };
}

function trust(): SetupRow {
  return row("trust", true, vscode.l10n.t("You trust this folder."), "north.manageTrust");
}

function model(options: ConfigOption[]): SetupRow {
  if (!isOffline(options)) return row("model", true, vscode.l10n.t("{0} answers.", modelName(options)), "north.switchModel");
  return row(
    "key",
    false,
    vscode.l10n.t("No API key yet: the offline model answers. It follows a few rules and does not reason."),
    "north.storeKey",
  );
}

function modelName(options: ConfigOption[]): string {
  const option = options.find(({ id }) => id === "model");
  return option?.options.find(({ value }) => value === option.currentValue)?.name ?? option?.currentValue ?? "";
}
