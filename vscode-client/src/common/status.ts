import * as vscode from "vscode";

import type { Conversations } from "../chat/conversations";
import { phaseWords } from "../chat/phase";

/** The status bar item: the mode, and whether North is idle, works or waits for the user, in whatever conversation. */
export function createStatus(conversations: Conversations): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("north.status", vscode.StatusBarAlignment.Right, 90);
  item.name = "North";
  const show = () => {
    const { problem, calm, modeName, options, phase } = conversations.active.session;
    const [question] = conversations.waiting;
    const waits = question !== undefined;
    const [icon, doing] = waits
      ? ["bell-dot", vscode.l10n.t("waits for you: {0}", question.title)]
      : conversations.busy
        ? ["sync~spin", vscode.l10n.t("working")]
        : phase !== ""
          ? ["loading~spin", phaseWords(phase)]
          : problem !== ""
            ? [calm ? "info" : "warning", problem]
            : ["circle-outline", options.length === 0 ? vscode.l10n.t("not started yet: a click opens the chat") : vscode.l10n.t("idle")];
    const name = modeName === "" ? "North" : `North: ${modeName}`;
    item.text = waits ? `$(${icon}) ${vscode.l10n.t("{0} waits for you", name)}` : `$(${icon}) ${name}`;
    item.command = waits ? "north.showWaiting" : "north.showChat";
    item.backgroundColor = waits ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    item.tooltip = `North: ${doing}`;
    item.accessibilityInformation = { label: `${name}, ${doing}`, role: "button" };
    item.show();
  };
  show();
  return vscode.Disposable.from(item, conversations.onState(show));
}
