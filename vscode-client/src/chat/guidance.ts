/** What guides the model and what it can use, as a list: rules and context files, agents, skills, MCP servers. */

import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import * as vscode from "vscode";

import { visible } from "../common/visible";
import { mainFolder } from "../common/settings";
import { openFile } from "./opening";
import type { Panel } from "./panel";
import type { Session } from "./session";

/** A rule or a context file, as the server tells it; `why` it is not used, if it is not. */
export interface ContextItem {
  name: string;
  source: string;
  path: string;
  bucket: string;
  why?: string;
}

export interface Agent {
  name: string;
  description: string;
  source: string;
  why?: string;
}

/** Choosing a row opens its file, or sends its command. */
export interface GuidanceRow {
  label: string;
  description: string;
  detail: string;
  file?: string;
  command?: string;
}

export function guidanceOf(items: readonly ContextItem[], agents: readonly Agent[]): [heading: string, rows: GuidanceRow[]][] {
  const { t } = vscode.l10n;
  const why = (text: string | undefined): string => (text ? ` · ${t("not used: {0}", visible(text))}` : "");
  return [
    [t("Rules and context files"), items.map((one) => ({ label: visible(one.name), description: `${visible(one.source)} · ${visible(one.bucket)}${why(one.why)}`, detail: visible(one.path), file: one.path }))],
    [t("Agents"), agents.map((one) => ({ label: visible(one.name), description: `${visible(one.source)}${why(one.why)}`, detail: visible(one.description) }))],
    [
      t("In the chat"),
      [
        { label: "/mcp", description: t("MCP servers: state, tools, signing in"), detail: "", command: "/mcp" },
        { label: "/skills", description: t("skills, commands and templates"), detail: "", command: "/skills" },
        { label: "/rules", description: t("switches rules on and off"), detail: "", command: "/rules" },
      ],
    ],
  ];
}

export async function chooseGuidance(session: Session, panel: Panel): Promise<void> {
  const [{ items }, { agents }] = await Promise.all([session.ask<{ items: ContextItem[] }>("_north/context", {}), session.ask<{ agents: Agent[] }>("_north/agents/list", {})]);
  const rows = guidanceOf(items, agents).flatMap(([label, all]) => (all.length === 0 ? [] : [{ label, kind: vscode.QuickPickItemKind.Separator } as GuidanceRow & vscode.QuickPickItem, ...all]));
  const options = { title: vscode.l10n.t("North: Rules, Agents and Tools"), placeHolder: vscode.l10n.t("What the model is told and can use; a file opens, a command is sent"), matchOnDescription: true, matchOnDetail: true };
  const chosen = await vscode.window.showQuickPick(rows, options);
  if (chosen?.file !== undefined) return openFile(absolute(chosen.file), null);
  if (chosen?.command === undefined) return;
  await panel.show(false);
  await session.send(chosen.command);
}

/** As the server shows a path: below the folder, or below the user's home. */
function absolute(path: string): string {
  if (path.startsWith("~/")) return join(homedir(), path.slice(2));
  return isAbsolute(path) ? path : join(mainFolder()?.uri.fsPath ?? "", path);
}
