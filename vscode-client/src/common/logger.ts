import * as vscode from "vscode";

/** North's channel in the output panel; the server's own messages go there as well. */
export function createLog(): vscode.LogOutputChannel {
  return vscode.window.createOutputChannel("North", { log: true });
}

/** What went wrong, for people. */
export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
