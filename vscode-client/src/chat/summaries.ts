/** Summaries that take the place of the older part of a conversation for the model: as rows, and what they replaced. */

import * as vscode from "vscode";

import type { Compaction } from "../acp";
import type { SummaryItem } from "../messages";
import type { Session } from "./session";
import { showText } from "./shownTexts";

/** The row after an update; what the update leaves out stays. */
export function summaryAfter(before: SummaryItem | undefined, update: Compaction): SummaryItem {
  const { t } = vscode.l10n;
  const north = update._meta?.north ?? {};
  const parts = update.summary?.map(({ text = "" }) => text) ?? [];
  const files = [...(north.read ?? []).map((name) => t("{0} (read)", name)), ...(north.modified ?? []).map((name) => t("{0} (changed)", name))];
  return {
    kind: "summary",
    id: `summary:${update.compactionId}`,
    compaction: update.compactionId,
    state: update.status,
    text: textOf(update),
    markdown: parts.length > 0 ? parts.join("\n\n") : (before?.markdown ?? ""),
    files: files.length > 0 ? files : (before?.files ?? []),
  };
}

function textOf({ status, error, _meta }: Compaction): string {
  const { t } = vscode.l10n;
  const { tokensBefore, tokensAfter, written } = _meta?.north ?? {};
  switch (status) {
    case "in_progress":
      return written ? t("The older part of this conversation is being summarized ({0} characters so far)", count(written)) : t("The older part of this conversation is being summarized");
    case "completed":
      if (_meta?.north?.reason === "handoff") return t("This conversation continues another one, of which the model has a summary");
      return tokensBefore && tokensAfter !== undefined ? t("The conversation up to here was summarized: {0} → {1} tokens", count(tokensBefore), count(tokensAfter)) : t("The conversation up to here was summarized");
    case "cancelled":
      return t("Summarizing was cancelled; the conversation is unchanged");
    default:
      return error ?? t("The conversation could not be summarized");
  }
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}

/** Shows what a summary took the place of. */
export async function showReplaced(session: Session, compaction: string): Promise<void> {
  const { text } = await session.ask<{ text: string }>("_north/sessions/replaced", { compactionId: compaction });
  await showText(vscode.l10n.t("Before the summary"), compaction, text);
}
