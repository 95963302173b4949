/** What is shown of a conversation that another North has open. */

import { l10n } from "vscode";

import type { OpenElsewhere } from "../acp";
import type { ElsewhereAct, ElsewhereBanner } from "../messages";
import type { Session } from "./session";
import { sessionFolders } from "./sessionFolders";

/** `isTaking`: the user wants it here; `canFork`: the server can copy it. */
export function bannerOf(by: OpenElsewhere | undefined, isTaking: boolean, canFork: boolean): ElsewhereBanner | undefined {
  if (by === undefined) return undefined;
  if (by.leaving) return { text: l10n.t("What ran before this window was reloaded continues; it can be answered and continued here in a moment."), buttons: [] };
  const client = by.client === "" ? l10n.t("another North") : by.client;
  const open = l10n.t("Open elsewhere ({0}, process {1}): following live.", client, by.pid);
  const more = isTaking ? l10n.t("It is taken over as soon as nothing runs there.") : doing(by.state ?? "idle");
  const fork = canFork ? [{ act: "fork" as const, label: l10n.t("Fork") }] : [];
  const take = isTaking ? [] : [{ act: "takeOver" as const, label: l10n.t("Take Over") }];
  return { text: more === "" ? open : `${open} ${more}`, buttons: [...take, ...fork] };
}

export async function actElsewhere(session: Session, act: ElsewhereAct): Promise<void> {
  if (act === "takeOver") return session.take(session.ask("_north/sessions/takeOver", {}));
  const { sessionId } = await session.ask<{ sessionId: string }>("session/fork", sessionFolders());
  await session.renew(sessionId);
}

function doing(state: string): string {
  if (state === "awaiting_review") return l10n.t("It waits for a decision there.");
  return state === "idle" ? "" : l10n.t("A turn runs there.");
}
