/** Registers North's commands: what fails in one is logged and said. */

import * as vscode from "vscode";

import { reason } from "./logger";
import { showError } from "./notices";

export type Run = (...args: unknown[]) => unknown;
export type Register = (name: string, run: Run) => vscode.Disposable;

/** Returns what registers `north.<name>`; `tell` says what failed. */
export function registrar(log: vscode.LogOutputChannel, tell: (error: unknown) => unknown = say): Register {
  return (name, run) =>
    vscode.commands.registerCommand(`north.${name}`, async (...args: unknown[]) => {
      try {
        await run(...args);
      } catch (error) {
        log.error(`north.${name}: ${reason(error)}`);
        void tell(error);
      }
    });
}

export function registerAll(commands: Record<string, Run>, register: Register): vscode.Disposable {
  return vscode.Disposable.from(...Object.entries(commands).map(([name, run]) => register(name, run)));
}

function say(error: unknown): Thenable<unknown> {
  return showError(`North: ${reason(error)}`);
}
