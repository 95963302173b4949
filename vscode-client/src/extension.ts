import type * as vscode from "vscode";

import { notifyInBackground } from "./chat/attention";
import { registerChanges } from "./chat/changes";
import { Conversations } from "./chat/conversations";
import { registerPromptCommands } from "./chat/promptCommands";
import { Reading } from "./chat/reading";
import { windowIdOf } from "./chat/sessionFolders";
import { registerCommands } from "./common/commands";
import { createLog } from "./common/logger";
import { Server } from "./common/server";
import { serverKeys, serverSettings, watchServerSettings } from "./common/serverSettings";
import { registerSetup } from "./common/setup";
import { createStatus } from "./common/status";
import { findServer } from "./install/finding";
import { Installer } from "./install/installer";
import { HiddenDocuments } from "./places/hiddenDocuments";
import { Places } from "./places/index";
import { announceQuestions } from "./review/approvals";
import { listenForForms } from "./review/elicitation";
import { TurnDiffs } from "./review/turnDiffs";
import { Lenses } from "./review/lenses";
import { Marks } from "./review/marks";
import { Permissions } from "./review/permissions";
import { Proposals } from "./review/proposals";
import { Questions } from "./review/questions";
import { saveOnRequest } from "./review/saving";
import { FileTree } from "./review/tree";

let running: Server | undefined;
let isBusy = (): boolean => false;

export function activate(context: vscode.ExtensionContext): void {
  const log = createLog();
  const questions = new Questions((id) => conversations.find(id)?.transcript ?? places.transcriptOf(id));
  const installer = new Installer(context.extensionUri, context.globalStorageUri, log);
  const hidden = new HiddenDocuments();
  const keys = serverKeys(context.extension.packageJSON);
  const server: Server = new Server(log, hidden.middleware, () => findServer(installer), () => serverSettings(keys), (client) => {
    conversations.listen(client);
    questions.listen(client);
    listenForForms(client, questions);
    places.listen(client);
    saveOnRequest(client);
  });
  running = server;
  const proposals = new Proposals(questions);
  const before = new TurnDiffs();
  const { extensionUri: extension, workspaceState: memory } = context;
  const shared = context.globalStorageUri.fsPath;
  const conversations: Conversations = new Conversations({ extension, server, questions, proposals, before, log, memory, shared, windowId: windowIdOf(context.storageUri) });
  isBusy = () => conversations.busy;
  const { session, panel } = conversations.main;
  const permissions = new Permissions(session);
  const places: Places = new Places({ extension, server, hidden, conversations, questions, log });
  context.subscriptions.push(
    log,
    server,
    hidden,
    watchServerSettings(keys, () => void server.tellSettings()),
    conversations,
    questions,
    proposals,
    before,
    new Lenses(proposals),
    new Marks(proposals),
    new FileTree(proposals),
    permissions,
    places,
    registerChanges(),
    new Reading(conversations),
    createStatus(conversations),
    announceQuestions(questions, (question) => void conversations.announce(question)),
    notifyInBackground(conversations, questions),
    registerSetup({ extensionId: context.extension.id, conversations, aside: places.aside, installer, log }),
    registerPromptCommands(conversations, log),
    registerCommands({ conversations, panel, questions, proposals, permissions, log, manifest: context.extension.packageJSON as unknown }),
  );
}

/** The server gets the time to end in order. While a turn runs, it ends what it has begun: the window may come back. */
export async function deactivate(): Promise<void> {
  if (isBusy()) running?.leave();
  await running?.stop();
}
