/** The extension's own server: installed with progress when it is first needed, and again when the wheel has changed. */

import { constants } from "node:fs";
import { access, mkdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import * as vscode from "vscode";

import { reason } from "../common/logger";
import { isInside } from "../common/paths";
import { chosenPython, workspaceFolders } from "../common/settings";
import { type Home, homeOf, isInstalled, lockHome, markUsed, removeUnused, markNotInstalled } from "./home";
import { Aborted, runnerIn, withTimeout } from "./processes";
import { installWheel, type Step, StepFailed } from "./steps";
import { findTools, placesOf, type Tool } from "./tools";
import { includedWheel, type Wheel } from "./wheel";
import { cancelled, problemOfStep, problemOfTools } from "./problems";

const ASKING_MS = 15_000;

export class Installer {
  private installing: Promise<string> | undefined;

  constructor(
    private readonly extension: vscode.Uri,
    private readonly storage: vscode.Uri,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  wheel(): Promise<Wheel | undefined> {
    return includedWheel(this.extension.fsPath);
  }

  /** The program of the included server, installed where it is not yet. Throws Problem. */
  program(wheel: Wheel): Promise<string> {
    this.installing ??= this.ensure(wheel).finally(() => {
      this.installing = undefined;
    });
    return this.installing;
  }

  isInstalled(wheel: Wheel): Promise<boolean> {
    return isInstalled(homeOf(this.storage.fsPath, wheel), wheel);
  }

  /** The next `program` installs it anew. */
  forget(wheel: Wheel): Promise<void> {
    return markNotInstalled(homeOf(this.storage.fsPath, wheel));
  }

  private async ensure(wheel: Wheel): Promise<string> {
    const home = homeOf(this.storage.fsPath, wheel);
    if (!(await isInstalled(home, wheel))) await this.installWithProgress(wheel, home);
    await markUsed(home);
    return home.program;
  }

  private async installWithProgress(wheel: Wheel, home: Home): Promise<void> {
    const title = vscode.l10n.t("Installing North's server");
    await mkdir(this.storage.fsPath, { recursive: true });
    await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Notification, title, cancellable: true },
      async (progress, token) => {
        const stop = new AbortController();
        token.onCancellationRequested(() => stop.abort());
        try {
          const unlock = await lockHome(home, stop.signal, () => new Promise((resolve) => setTimeout(resolve, 300)));
          try {
            if (!(await isInstalled(home, wheel))) await this.install(wheel, home, stop.signal, (message) => progress.report({ message }));
          } finally {
            await unlock();
          }
        } catch (error) {
          if (stop.signal.aborted) throw cancelled();
          if (error instanceof StepFailed) throw problemOfStep(error);
          throw error;
        }
      },
    );
    const removed = await removeUnused(home).catch((error: unknown) => [reason(error)]);
    if (removed.length > 0) this.log.info(`Removed: ${removed.join(", ")}`);
  }

  private async install(wheel: Wheel, home: Home, signal: AbortSignal, report: (message: string) => void): Promise<void> {
    this.log.info(`Installing ${wheel.file} into ${home.folder}`);
    report(vscode.l10n.t("looking for Python"));
    const tools = await this.tools(signal);
    const run = runnerIn(this.storage.fsPath, signal, (line) => this.log.info(line));
    const begin = (step: Step) => report(wordsFor(step));
    for (const [index, tool] of tools.entries()) {
      this.log.info(`With ${tool.program}${tool.kind === "python" ? ` (${tool.version})` : ""}`);
      try {
        await installWheel(wheel, home, tool, run, begin);
        this.log.info("Installed");
        return;
      } catch (error) {
        // uv has an index and certificates of its own: what it cannot get, pip may.
        if (!(error instanceof StepFailed) || index === tools.length - 1) throw error;
        this.log.warn(`${tool.program}: ${error.message}`);
      }
    }
  }

  private async tools(signal: AbortSignal): Promise<Tool[]> {
    const folders = workspaceFolders();
    const places = placesOf(process.env, homedir(), process.platform, (folder) => isInside(folder, folders));
    const ask = async (program: string, args: string[]) => {
      try {
        return await runnerIn(this.storage.fsPath, withTimeout(ASKING_MS, signal), (line) => this.log.debug(line))(program, args);
      } catch (error) {
        if (error instanceof Aborted && !signal.aborted) return { code: null, output: "took too long" };
        throw error;
      }
    };
    const found = await findTools(chosenPython(homedir()), places, isProgram, ask);
    if (Array.isArray(found)) return found;
    throw problemOfTools(found);
  }
}

export async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

function wordsFor(step: Step): string {
  switch (step) {
    case "environment":
      return vscode.l10n.t("making its private environment");
    case "packages":
      return vscode.l10n.t("getting its packages from your index");
    case "check":
      return vscode.l10n.t("trying it out");
  }
}
