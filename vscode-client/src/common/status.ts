import * as vscode from "vscode";

import type { Session } from "../chat/session";

/** The status bar item: the mode, and whether North is idle, works or waits for the user. */
export function createStatus(session: Session): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("north.status", vscode.StatusBarAlignment.Right, 90);
  item.name = "North";
  item.command = "north.showChat";
  const show = () => {
    const [icon, doing] = session.waiting
      ? ["bell-dot", "waits for you"]
      : session.busy
        ? ["sync~spin", "working"]
        : session.problem !== ""
          ? ["warning", session.problem]
          : ["circle-outline", "idle"];
    const name = session.modeName === "" ? "North" : `North: ${session.modeName}`;
    item.text = `$(${icon}) ${name}${session.waiting ? " waits for you" : ""}`;
    item.backgroundColor = session.waiting ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    item.tooltip = `North: ${doing}`;
    item.accessibilityInformation = { label: `${name}, ${doing}`, role: "button" };
    item.show();
  };
  show();
  return vscode.Disposable.from(item, session.onState(show));
}
