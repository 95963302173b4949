/** A conversation as plain text, to be read in an editor. */

import * as vscode from "vscode";

import type { Item, ShownDiff, ToolItem } from "../messages";

export interface Readable {
  text: string;
  /** The line, from 0, in which the last answer begins; the last row, if there is none. */
  line: number;
}

export function readable(items: readonly Item[]): Readable {
  const parts = items.map(partOf);
  const lastAnswer = items.findLastIndex(({ kind }) => kind === "answer");
  const before = parts.slice(0, lastAnswer < 0 ? -1 : lastAnswer);
  const line = before.reduce((sum, part) => sum + part.split("\n").length + 1, 0);
  return { text: parts.join("\n\n"), line };
}

function partOf(item: Item): string {
  const { t } = vscode.l10n;
  switch (item.kind) {
    case "user":
      return block(t("You"), item.text, item.attachment ?? "");
    case "answer":
      return block(t("North"), item.markdown);
    case "thought":
      return block(t("Thoughts"), item.markdown);
    case "tool":
      return toolText(item);
    case "retry":
      return block(t("The model did not answer"), item.reason);
    case "plan":
      return block(t("Plan"), ...item.entries.map(({ text, status }) => `- ${text} (${statusWord(status)})`));
    case "failure":
      return block(t("The request failed"), item.text);
    case "notice":
      return item.text;
    case "summary":
      return block(item.text, item.markdown, ...item.files.map((name) => `- ${name}`));
    case "changes":
      return [item.text, ...(item.note === "" ? [] : [item.note])].join(" — ");
    default:
      return block(item.heading, item.about ?? "", item.markdown, item.decision === undefined ? "" : t("You chose: {0}", item.decision));
  }
}

function toolText({ title, status, note, exitCode = 0, parts, shortened }: ToolItem): string {
  const lines = parts.flatMap((part) => (part.kind === "text" ? [part.text] : part.kind === "diff" ? [diffText(part)] : []));
  const head = `${statusWord(status)}: ${title.replaceAll("`", "")}`;
  const more = note ?? (exitCode === 0 ? undefined : vscode.l10n.t("exit code {0}", exitCode));
  return block(more === undefined ? head : `${head} (${more})`, ...lines, shortened ?? "");
}

function diffText({ name, hunks }: ShownDiff): string {
  return [name, ...hunks.flatMap(({ lines }) => lines)].join("\n");
}

function statusWord(status: ToolItem["status"]): string {
  const { t } = vscode.l10n;
  switch (status) {
    case "pending":
      return t("waiting");
    case "in_progress":
      return t("running");
    case "completed":
      return t("done");
    case "failed":
      return t("failed");
  }
}

function block(head: string, ...lines: string[]): string {
  return [/[.?!:]$/.test(head) ? head : `${head}:`, ...lines.filter((line) => line.trim() !== "").map((line) => line.trim())].join("\n");
}
