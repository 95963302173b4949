/** The stored conversations of the folder, as rows of a list; and what a page remembers of its own. */

import { l10n } from "vscode";

import type { SessionRow } from "../acp";

export interface StoredConversation {
  id: string;
  title: string;
  /** Where it is shown, or when it was last changed. */
  when: string;
}

/** `shown` tells, by id, where a conversation is open now. */
export function storedConversations(rows: SessionRow[], shown: ReadonlyMap<string, string>, now: Date): StoredConversation[] {
  return rows.map(({ sessionId, title, updatedAt }) => {
    const name = (title ?? "").trim();
    const place = shown.get(sessionId);
    const age = updatedAt ? ago(new Date(updatedAt), now) : "";
    return { id: sessionId, title: name === "" ? l10n.t("Untitled") : name, when: [place ?? "", age].filter((part) => part !== "").join(" · ") };
  });
}

export function ago(then: Date, now: Date): string {
  const minutes = Math.floor((now.getTime() - then.getTime()) / 60_000);
  if (Number.isNaN(minutes)) return "";
  if (minutes < 1) return l10n.t("now");
  if (minutes < 60) return l10n.t("{0} min ago", minutes);
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return l10n.t("{0} h ago", hours);
  const days = Math.floor(hours / 24);
  if (days < 7) return days === 1 ? l10n.t("yesterday") : l10n.t("{0} days ago", days);
  return then.toISOString().slice(0, 10);
}

/** The conversation that a page showed, from what VS Code kept of it; empty for none. */
export function rememberedConversation(state: unknown): string {
  if (typeof state !== "object" || state === null || !("conversation" in state)) return "";
  const { conversation } = state;
  return typeof conversation === "string" && /^[\w-]{1,100}$/.test(conversation) ? conversation : "";
}
