/** What a first use needs: the commands that set North up, and going on by itself once something is no longer in the way. */

import * as vscode from "vscode";

import { isOffline } from "../chat/choices";
import type { Conversations } from "../chat/conversations";
import type { Session } from "../chat/session";
import { installForLater } from "../install/finding";
import type { Installer } from "../install/installer";
import { allIdle, type Worker } from "./idle";
import { reason } from "./logger";
import { showError } from "./notices";
import { isCalm, Problem } from "./problems";
import { registerAll, registrar } from "./registering";
import { openSetting } from "./settings";
import { openSettingsFile } from "./settingsFile";

interface Parts {
  /** `publisher.name`: whoever packs the extension may have put in another publisher. */
  extensionId: string;
  conversations: Conversations;
  /** What else the server is at work for. */
  aside: Worker;
  installer: Installer;
  log: vscode.LogOutputChannel;
}

export function registerSetup({ extensionId, conversations, aside, installer, log }: Parts): vscode.Disposable {
  const { session } = conversations.main;
  const idle = (): Promise<void> => allIdle([conversations, aside]);
  const folders = new Folders(conversations, idle);
  let going: Promise<void> | undefined;
  /** One try at a time: trust brings settings along. */
  const again = (): Promise<void> => (going ??= goOn(session, idle).finally(() => (going = undefined)));
  const commands = {
    installServer: async () => {
      await installForLater(installer);
      await setInstalled(installer);
      await again();
    },
    choosePython: () => openSetting("north.server.python"),
    manageTrust: () => vscode.commands.executeCommand("workbench.trust.manage"),
    openFolder: () => vscode.commands.executeCommand("vscode.openFolder"),
    openWalkthrough: () => vscode.commands.executeCommand("workbench.action.openWalkthrough", `${extensionId}#firstSteps`, false),
    openSettingsFile: () => openSettingsFile(),
  };
  void setInstalled(installer);
  return vscode.Disposable.from(
    registerAll(commands, registrar(log, offerWaysOut)),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void again()),
    vscode.workspace.onDidChangeWorkspaceFolders(() => void folders.take()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("north.server")) void again();
    }),
    session.onState(() => {
      if (session.busy) setContext("hasAsked", true);
      if (session.options.length === 0) return;
      setContext("serverInstalled", true);
      setContext("hasModel", !isOffline(session.options));
    }),
  );
}

/** A problem with its buttons; none for what the user has just cancelled. */
async function offerWaysOut(error: unknown): Promise<void> {
  if (isCalm(error)) return;
  const ways = error instanceof Problem ? error.remedies : [];
  const chosen = await showError(`North: ${reason(error)}`, ...ways.map(({ label }) => label));
  const way = ways.find(({ label }) => label === chosen);
  if (way !== undefined) await vscode.commands.executeCommand(way.command);
}

/** Tries again what did not work before; a conversation that is open stays as it is, and no turn of another one is cut. */
async function goOn(session: Session, idle: () => Promise<void>): Promise<void> {
  if (session.problem === "" && session.phase === "") return;
  await idle();
  await session.restart();
}

/** The server gets to know another folder when a conversation is opened: they are loaded again, once none is at work. */
export class Folders {
  private isWaiting = false;

  constructor(
    private readonly conversations: Pick<Conversations, "main" | "all">,
    private readonly idle: () => Promise<void>,
  ) {}

  async take(): Promise<void> {
    if (this.isWaiting) return; // they are taken as they are then
    this.isWaiting = true;
    await this.idle();
    this.isWaiting = false;
    const { all, main } = this.conversations;
    if (all.some(({ session }) => session.problem !== "" || session.options.length > 0)) await main.session.restart();
  }
}

/** For the walkthrough: a server that the settings name counts as well, once it has answered. */
async function setInstalled(installer: Installer): Promise<void> {
  const wheel = await installer.wheel();
  if (wheel !== undefined && (await installer.isInstalled(wheel))) setContext("serverInstalled", true);
}

function setContext(key: string, value: boolean): void {
  void vscode.commands.executeCommand("setContext", `north.${key}`, value);
}
