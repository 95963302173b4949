/** The server's settings as a list: what each is now and where that comes from; what can be done about the chosen one. */

import * as vscode from "vscode";

const { l10n } = vscode;

type Place = "user" | "project" | "session";
type Ask = <Result>(method: string, params: object) => Promise<Result>;

/** A setting, as the server tells it. */
export interface SettingRow {
  key: string;
  text: string;
  value: unknown;
  origin: "default" | "editor" | Place;
  expects: string;
  choices: unknown[];
  needsRestart: boolean;
  project: "no" | "stricter" | "yes";
}

interface Listed {
  settings: SettingRow[];
  files: { user: string; project?: string };
}

interface Item extends vscode.QuickPickItem {
  row: SettingRow;
}

interface Action extends vscode.QuickPickItem {
  run: () => Promise<unknown>;
}

export interface Around {
  ask: Ask;
  /** A setting's text in the user's language, if the extension contributes it. */
  textOf: (key: string) => string | undefined;
  openFile: (path: string) => Promise<unknown>;
}

/** Chooses a setting, then what to do about it. */
export async function chooseSetting(around: Around): Promise<void> {
  const { settings, files } = await around.ask<Listed>("_north/config/list", {});
  const rows = [...settings].sort((one, other) => Number(one.origin === "default") - Number(other.origin === "default"));
  const items = rows.map((row): Item => ({ label: row.key, description: `${shown(row.value)} · ${originName(row.origin)}`, detail: around.textOf(row.key) ?? row.text, row }));
  const placeHolder = l10n.t("What has been changed comes first. Type to search names, values and texts.");
  const chosen = await vscode.window.showQuickPick(items, { title: l10n.t("North: Settings"), placeHolder, matchOnDescription: true, matchOnDetail: true });
  if (chosen === undefined) return;
  const done = await vscode.window.showQuickPick(actionsOf(chosen.row, files, around), { title: chosen.row.key, placeHolder: chosen.detail ?? "" });
  await done?.run();
}

/** What can be done about a setting: VS Code's own settings come first, where they have it. */
export function actionsOf(row: SettingRow, files: Listed["files"], around: Around): Action[] {
  const change = (label: string, place: Place): Action => ({ label, run: () => ask(row, place, around) });
  const actions: Action[] = [];
  if (around.textOf(row.key) === undefined) actions.push({ label: l10n.t("Open Settings File"), run: () => around.openFile(files.user) });
  else actions.push({ label: l10n.t("Change in VS Code’s Settings"), run: async () => vscode.commands.executeCommand("workbench.action.openSettings", `@id:north.${row.key}`) });
  if (!row.needsRestart) actions.push(change(l10n.t("Change for This Conversation…"), "session"));
  if (row.project !== "no" && files.project !== undefined) actions.push(change(row.project === "yes" ? l10n.t("Change for This Project…") : l10n.t("Make Stricter for This Project…"), "project"));
  const { origin } = row;
  if (origin === "user" || origin === "project" || origin === "session") {
    actions.push({ label: l10n.t("Reset: {0}", originName(origin)), run: () => around.ask("_north/config/reset", { key: row.key, place: origin }) });
  }
  if (origin === "project" && files.project !== undefined) {
    const path = files.project;
    actions.push({ label: l10n.t("Open the Project’s Settings File"), run: () => around.openFile(path) });
  }
  return actions;
}

async function ask(row: SettingRow, place: Place, { ask: send }: Around): Promise<void> {
  const given = await chosenValue(row);
  if (given !== undefined) await send("_north/config/set", { key: row.key, place, ...given });
}

/** `{ value }` of a setting with few values, else `{ typed }`, which the server reads. */
async function chosenValue(row: SettingRow): Promise<{ value: unknown } | { typed: string } | undefined> {
  if (row.choices.length > 0) {
    const items = row.choices.map((value) => ({ label: shown(value), description: value === row.value ? l10n.t("current") : "", value }));
    const chosen = await vscode.window.showQuickPick(items, { title: row.key });
    return chosen === undefined ? undefined : { value: chosen.value };
  }
  const typed = await vscode.window.showInputBox({ title: row.key, prompt: row.expects, value: row.value === null ? "" : asTyped(row.value) });
  return typed === undefined ? undefined : { typed };
}

export function originName(origin: SettingRow["origin"]): string {
  switch (origin) {
    case "default":
      return l10n.t("default");
    case "user":
      return l10n.t("settings file");
    case "project":
      return l10n.t("project");
    case "editor":
      return l10n.t("VS Code’s settings");
    case "session":
      return l10n.t("this conversation");
  }
}

/** A value in a line, as it is typed: a text without quotation marks. */
export function asTyped(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The same in a list, where `$(name)` would be a picture. */
export function shown(value: unknown): string {
  if (value === null || value === undefined) return l10n.t("not set");
  return asTyped(value).replaceAll("$(", "$\u200b(");
}
