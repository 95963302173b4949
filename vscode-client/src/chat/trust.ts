/** What the user told VS Code of the folder: a server is started in trusted ones only. */

import type { LogOutputChannel } from "vscode";

import { reason } from "../common/logger";
import { asksForTrust } from "../common/problems";
import type { Session } from "./session";

export async function handTrust(session: Session, log: LogOutputChannel): Promise<void> {
  if (!asksForTrust()) return;
  await session.ask("_north/trust", { trusted: true }).catch((error: unknown) => log.debug(reason(error)));
}
