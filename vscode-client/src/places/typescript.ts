/** VS Code's TypeScript tells problems only of files that are in a tab; asked for them it tells those of others, too. */

import * as vscode from "vscode";

import type { Range } from "./answers";
import type { Severity } from "./problems";

const ENDINGS = /\.[cm]?[jt]sx?$/i;
const REQUESTS = ["syntacticDiagnosticsSync", "semanticDiagnosticsSync"];

export interface TypeScriptProblem {
  range: Range;
  severity: Severity;
  message: string;
  source: string;
  code: string | undefined;
}

export function isTypeScript({ path }: vscode.Uri): boolean {
  return ENDINGS.test(path);
}

/** Undefined where TypeScript does not answer, or not in words that are known. */
export async function typeScriptProblems(file: vscode.Uri): Promise<TypeScriptProblem[] | undefined> {
  const all: TypeScriptProblem[] = [];
  for (const request of REQUESTS) {
    const answer: unknown = await vscode.commands.executeCommand("typescript.tsserverRequest", request, { file }).then(undefined, () => undefined);
    const body = fieldOf(answer, "body");
    if (!Array.isArray(body)) return undefined;
    for (const row of body) {
      const problem = problemOf(row);
      if (problem !== undefined) all.push(problem);
    }
  }
  return all;
}

function problemOf(row: unknown): TypeScriptProblem | undefined {
  const [start, end] = [positionOf(fieldOf(row, "start")), positionOf(fieldOf(row, "end"))];
  const [message, category, code] = [fieldOf(row, "text"), fieldOf(row, "category"), fieldOf(row, "code")];
  if (start === undefined || end === undefined || typeof message !== "string") return undefined;
  const severity = category === "error" ? "error" : category === "warning" ? "warning" : "hint";
  return { range: { start, end }, severity, message, source: "ts", code: typeof code === "number" ? String(code) : undefined };
}

/** TypeScript counts lines and columns from 1. */
function positionOf(value: unknown): Range["start"] | undefined {
  const [line, offset] = [fieldOf(value, "line"), fieldOf(value, "offset")];
  return typeof line === "number" && typeof offset === "number" ? { line: line - 1, character: offset - 1 } : undefined;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;
}
