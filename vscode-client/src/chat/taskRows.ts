/** The tasks of a call, as the server tells of them. */

import * as vscode from "vscode";

import { visible } from "../common/visible";
import type { TaskItem, ToolPart } from "../messages";

/** North's extension of the protocol. */
export interface AgentTask {
  id: string;
  agent: string;
  state: string;
  description?: string;
  action?: string;
  tokens?: number;
}

/** What a state is called; a newer server may have states that are not known here. */
export function taskState(state: string): string {
  const { t } = vscode.l10n;
  const names: Record<string, string> = {
    queued: t("waiting"),
    running: t("working"),
    done: t("done"),
    unstructured: t("done, without a result in its form"),
    invalid: t("its result does not fit"),
    failed: t("failed"),
    cancelled: t("cancelled"),
    timed_out: t("took too long"),
    limit: t("made too many requests"),
  };
  return names[state] ?? visible(state);
}

/** The part of a call's row that shows its tasks; what makes no sense is left out. */
export function tasksPart(tasks: unknown): ToolPart | undefined {
  if (!Array.isArray(tasks)) return undefined;
  const rows = tasks.filter(isTask).map(rowOf);
  return rows.length > 0 ? { kind: "tasks", rows } : undefined;
}

function isTask(task: unknown): task is AgentTask {
  const one = task as Partial<Record<keyof AgentTask, unknown>> | null;
  return typeof one === "object" && one !== null && [one.id, one.agent, one.state].every((value) => typeof value === "string");
}

function rowOf(task: AgentTask): TaskItem {
  const runs = task.state === "running" || task.state === "queued";
  const isGood = task.state === "done" || task.state === "unstructured";
  const doing = task.state === "running" && typeof task.action === "string" ? task.action : (task.description ?? "");
  const tokens = typeof task.tokens === "number" && task.tokens > 0 ? vscode.l10n.t("{0} tokens", task.tokens.toLocaleString("en-US")) : "";
  return {
    id: task.id,
    agent: visible(task.agent),
    status: task.state === "queued" ? "pending" : runs ? "in_progress" : isGood ? "completed" : "failed",
    state: taskState(task.state),
    doing: visible(doing),
    tokens,
  };
}
