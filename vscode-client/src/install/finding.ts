/** The program to start, installed first where that is needed. */

import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import * as vscode from "vscode";

import { showInfo } from "../common/notices";
import { mustHaveTrustedFolder } from "../common/problems";
import { chosenServer, mainFolder, serverSource, workspaceFolders } from "../common/settings";
import { type Choice, chooseServer } from "./choice";
import { type Installer, isProgram } from "./installer";
import { problemOfChoice } from "./problems";

/** Throws Problem; before the workspace is trusted, always. */
export async function findServer(installer: Installer): Promise<string> {
  mustHaveTrustedFolder();
  const choice = await chosen(installer);
  if (choice.kind === "start") return choice.program;
  const wheel = await installer.wheel();
  if (choice.kind === "install" && wheel !== undefined) return installer.program(wheel);
  throw choice.kind === "install" ? new Error("the wheel has gone") : problemOfChoice(choice);
}

/** Installs the included server for later, which needs no folder; again, if the user wants that. */
export async function installForLater(installer: Installer): Promise<void> {
  const choice = await chosen(installer);
  const wheel = await installer.wheel();
  if (choice.kind === "start") {
    void showInfo(
      vscode.l10n.t("North starts {0}, as your settings say. Nothing needs to be installed.", choice.program),
    );
    return;
  }
  if (choice.kind !== "install") throw problemOfChoice(choice);
  if (wheel === undefined) throw new Error("the wheel has gone");
  if (await installer.isInstalled(wheel)) {
    const again = vscode.l10n.t("Install Again");
    const question = vscode.l10n.t("North's server {0} is installed.", wheel.version);
    if ((await showInfo(question, again)) !== again) return;
    await installer.forget(wheel);
  }
  await installer.program(wheel);
}

async function chosen(installer: Installer): Promise<Choice> {
  const wanted = { path: chosenServer(homedir(), mainFolder()?.uri.fsPath), source: serverSource() };
  return chooseServer(wanted, {
    platform: process.platform,
    folders: workspaceFolders(),
    pathVariable: process.env.PATH ?? "",
    hasWheel: (await installer.wheel()) !== undefined,
    isProgram,
    real: (file) => realpath(file).catch(() => file),
  });
}
