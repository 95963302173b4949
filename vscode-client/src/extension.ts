import type * as vscode from "vscode";

import { Panel } from "./chat/panel";
import { Session } from "./chat/session";
import { Transcript } from "./chat/transcript";
import { registerCommands } from "./common/commands";
import { createLog } from "./common/logger";
import { Server } from "./common/server";
import { createStatus } from "./common/status";
import { Places } from "./places/index";
import { pointToCommands } from "./review/approvals";
import { Permissions } from "./review/permissions";
import { Proposals } from "./review/proposals";
import { Questions } from "./review/questions";
import { saveOnRequest } from "./review/saving";

export function activate(context: vscode.ExtensionContext): void {
  const log = createLog();
  const transcript = new Transcript();
  const questions = new Questions(transcript);
  const server: Server = new Server(log, (client) => {
    session.listen(client);
    questions.listen(client, (id) => session.isCurrent(id) || places.mayAsk(id));
    places.listen(client, (id) => session.isCurrent(id));
    saveOnRequest(client);
  });
  const session = new Session(server, transcript, questions, log);
  const proposals = new Proposals(questions);
  const permissions = new Permissions(session);
  const panel = new Panel(context.extensionUri, session, transcript, questions, proposals);
  const places = new Places({ extension: context.extensionUri, server, session, panel, log });
  context.subscriptions.push(
    log,
    server,
    session,
    questions,
    proposals,
    permissions,
    panel,
    places,
    createStatus(session),
    pointToCommands(questions, () => void panel.show(true)),
    registerCommands({ session, panel, questions, proposals, permissions, log }),
  );
}
