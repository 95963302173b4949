/** What is done before one can ask, in words. */

import * as vscode from "vscode";

import type { Phase } from "./conversationState";

export function phaseWords(phase: Phase): string {
  switch (phase) {
    case "":
      return "";
    case "server":
      return vscode.l10n.t("starting the server");
    case "conversation":
      return vscode.l10n.t("opening the conversation");
  }
}
