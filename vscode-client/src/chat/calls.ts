/** Tool calls as rows: what the server has told of one, put together. Pure. */

import type { CallMeta, ToolCall, ToolContent } from "../acp";
import { visible } from "../common/visible";
import type { RetryItem, ToolItem, ToolPart } from "../messages";
import { shownDiff } from "./diffs";
import { tasksPart } from "./taskRows";

/** The server's kinds of failures, as far as they are told apart here. */
const CAUSES: Record<string, RetryItem["cause"]> = { network: "network", rate_limit: "limited", overloaded: "overloaded" };
/** The lines that an edit adds and removes; beside its differences they are shown by themselves. */
const COUNTS = / \(\+\d+\/-\d+\)$/;
/** So much is shown of one text; the rest is said. */
const LONGEST = 200_000;

export interface CallTexts {
  nameOf(path: string): string;
  /** The title that fits how far a call is. */
  titleOf(told: string, status: ToolItem["status"]): string;
  /** The model got so many of the lines. */
  shortened(shown: number, total: number): string;
  /** So many characters are not shown. */
  left(count: number): string;
}

/** The row after an update; what the update does not tell stays. */
export function callAfter(before: ToolItem | undefined, call: ToolCall, words: CallTexts): ToolItem {
  const place = call.locations?.[0];
  const file = place?.path ?? before?.file;
  const line = place !== undefined ? place.line : before?.line;
  const { group = before?.group, exitCode = before?.exitCode, truncation } = call._meta?.north ?? {};
  const told = typeof call.title === "string" ? visible(call.title) : (before?.told ?? before?.title ?? "");
  const status = call.status ?? before?.status ?? "pending";
  const artifact = truncation === undefined ? before?.artifact : truncation.artifactId;
  const parts = partsAfter(before, call, status, words);
  const title = words.titleOf(parts.some((part) => part.kind === "diff") ? told.replace(COUNTS, "") : told, status);
  const shortened = truncation === undefined ? before?.shortened : shortenedWords(truncation, words);
  return {
    kind: "tool",
    id: `tool:${call.toolCallId}`,
    title,
    ...(title === told ? {} : { told }),
    does: call.kind ?? before?.does ?? "other",
    status,
    input: call.rawInput ? inputOf(call.rawInput) : (before?.input ?? []),
    parts,
    ...(file !== undefined ? { file } : {}),
    ...(line !== undefined && line !== null ? { line } : {}),
    ...(group !== undefined ? { group } : {}),
    ...(shortened !== undefined ? { shortened } : {}),
    ...(artifact !== undefined ? { artifact } : {}),
    ...(exitCode !== undefined ? { exitCode } : {}),
  };
}

/** While agents work, their rows say more than the text for other clients. */
function partsAfter(before: ToolItem | undefined, call: ToolCall, status: ToolItem["status"], words: CallTexts): ToolPart[] {
  const known = before?.parts ?? [];
  const tasks = tasksPart(call._meta?.north?.tasks) ?? known.find((part) => part.kind === "tasks");
  const others = call.content ? call.content.flatMap((content) => partOf(content, words)) : known.filter((part) => part.kind !== "tasks");
  if (tasks === undefined) return others;
  return status === "completed" || status === "failed" ? [tasks, ...others] : [tasks];
}

/** A wait; one that follows another right away goes on in its row. */
export function retryAfter(before: RetryItem | undefined, call: ToolCall, isAnother: boolean): Omit<RetryItem, "id"> {
  const { remainingMs = 0, reason, kind } = call._meta?.north?.retry ?? {};
  const state = call.status === "completed" ? "over" : call.status === "failed" ? "stopped" : "waiting";
  const told = reason ?? call.title?.replace(/^[^:]*(?:\(\d+ of \d+\)|Gave up): /, "") ?? "";
  return {
    kind: "retry",
    state,
    cause: kind === undefined ? (before?.cause ?? "other") : (CAUSES[kind] ?? "other"),
    failures: (before?.failures ?? 0) + (isAnother ? 1 : 0),
    seconds: Math.ceil(remainingMs / 1000),
    reason: told === "" ? (before?.reason ?? "") : told,
  };
}

function shortenedWords({ outputLines, totalLines }: NonNullable<CallMeta["truncation"]>, words: CallTexts): string | undefined {
  return outputLines === undefined || totalLines === undefined ? undefined : words.shortened(outputLines, totalLines);
}

function inputOf(raw: Record<string, unknown>): ToolItem["input"] {
  return Object.entries(raw).map(([name, value]) => ({
    name: visible(name),
    value: cut(typeof value === "string" ? value : JSON.stringify(value, undefined, 1), 10_000),
  }));
}

function partOf(content: ToolContent, words: CallTexts): ToolPart[] {
  if (content.type === "diff") return [shownDiff(content, (path) => words.nameOf(path))];
  if (content.type === "terminal") return [{ kind: "terminal" }];
  if (content.type !== "content" || content.content.text === undefined || content.content.text === "") return [];
  const { text } = content.content;
  const fenced = /^(`{3,})\w*\n([^]*?)\n?\1\s*$/.exec(text)?.[2];
  const plain = fenced ?? (text.includes("\n") ? undefined : text);
  const shown = plain ?? text;
  const left = shown.length - LONGEST;
  const told = left > 0 ? `${words.left(left)}\n${shown.slice(left)}` : shown;
  return [{ kind: "text", text: visible(told), code: plain !== undefined }];
}

function cut(text: string, length: number): string {
  return visible(text.length > length ? `${text.slice(0, length)}…` : text);
}
