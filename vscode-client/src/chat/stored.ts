/** The stored conversations, as rows of a list; and what a page remembers of its own. */

import { l10n } from "vscode";

import type { SessionRow } from "../acp";

export interface StoredConversation {
  id: string;
  title: string;
  /** Where it is shown, when it was last changed, how long it is and what it has cost. */
  facts: string;
  /** The words that were looked for, where they stand; empty if the title says it all. */
  snippet: string;
  /** The folder that it is about. */
  folder: string;
  /** It goes on in the folder that is open here without a question. */
  isHere: boolean;
  archived: boolean;
}

/** `shown` tells, by id, where a conversation is open now; `isHere`, which folder need not be named: the one that is open. */
export function storedConversations(rows: SessionRow[], shown: ReadonlyMap<string, string>, now: Date, isHere: (folder: string) => boolean): StoredConversation[] {
  return rows.map((row) => {
    const name = (row.name ?? "").trim();
    const folder = row.cwd ?? "";
    const facts = [
      shown.get(row.sessionId) ?? "",
      row.archived === true ? l10n.t("archived") : "",
      row.updatedAt ? ago(new Date(row.updatedAt), now) : "",
      row.messageCount === undefined ? "" : l10n.t("{0} messages", row.messageCount),
      row.costUsd === undefined || row.costUsd <= 0 ? "" : row.costUsd < 0.01 ? "<$0.01" : `$${row.costUsd.toFixed(2)}`,
      (row.model ?? "").split("/").at(-1) ?? "",
      isHere(folder) ? "" : folder,
    ];
    return {
      id: row.sessionId,
      title: name === "" ? l10n.t("Untitled") : name,
      facts: facts.filter((part) => part !== "").join(" · "),
      snippet: row.match === undefined || row.match.place === "title" ? "" : row.match.snippet,
      folder,
      isHere: folder === "" || isHere(folder),
      archived: row.archived === true,
    };
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
