import type * as vscode from "vscode";

import { Panel } from "./chat/panel";
import { Session } from "./chat/session";
import { Transcript } from "./chat/transcript";
import { registerCommands } from "./common/commands";
import { createLog } from "./common/logger";
import { Server } from "./common/server";
import { createStatus } from "./common/status";
import { pointToCommands } from "./review/approvals";
import { Lenses } from "./review/lenses";
import { Marks } from "./review/marks";
import { Permissions } from "./review/permissions";
import { Proposals } from "./review/proposals";
import { Questions } from "./review/questions";
import { saveOnRequest } from "./review/saving";
import { FileTree } from "./review/tree";
import { Turns } from "./review/turns";

export function activate(context: vscode.ExtensionContext): void {
  const log = createLog();
  const transcript = new Transcript();
  const questions = new Questions(transcript);
  const server: Server = new Server(log, (client) => {
    session.listen(client);
    questions.listen(client, (id) => session.isCurrent(id));
    saveOnRequest(client);
  });
  const session = new Session(server, transcript, questions, log);
  const proposals = new Proposals(questions);
  const permissions = new Permissions(session);
  const turns = new Turns(session, transcript, questions, log);
  const panel = new Panel(context.extensionUri, session, transcript, questions, proposals, turns);
  context.subscriptions.push(
    log,
    server,
    session,
    questions,
    proposals,
    new Lenses(proposals),
    new Marks(proposals),
    new FileTree(proposals),
    permissions,
    turns,
    panel,
    createStatus(session),
    pointToCommands(questions, () => void panel.show(true)),
    registerCommands({ session, panel, questions, proposals, permissions, log }),
  );
}
