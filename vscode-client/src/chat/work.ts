/** What the user decides about the goal and the workflow: each is a slash command, and what cannot be taken back is confirmed first. */

import * as vscode from "vscode";

import type { WorkDecision } from "../acp";
import { confirm } from "../review/approvals";
import type { Session } from "./session";

/** `prompt` is that of one of the decisions that the server has told; another one is none. */
export async function decideWork(session: Session, prompt: string): Promise<void> {
  const decision = session.work.decisions.find((one) => one.prompt === prompt);
  if (decision !== undefined && (await isMeant(decision, session.work.workflow?.folder === ""))) await session.send(prompt);
}

/** `ofSkill`: what can be ended is a skill with phases, which has no documents. */
async function isMeant({ id, consequence }: WorkDecision, ofSkill: boolean): Promise<boolean> {
  const { t } = vscode.l10n;
  if (id === "drop") return confirm(t("Drop the goal?"), t("Its criteria and their evidence are not shown any more."), t("Drop"), t("Keep"));
  if (id === "stop" && ofSkill) return confirm(t("End the skill?"), t("Models no longer follow its phases."), t("End"), t("Continue with It"));
  if (id === "stop") {
    const held = consequence === undefined ? "" : t("Edits and commands are possible again then.");
    return confirm(t("End the workflow?"), [held, t("Its documents stay in the project.")].filter((part) => part !== "").join(" "), t("End"), t("Continue with It"));
  }
  return true;
}
