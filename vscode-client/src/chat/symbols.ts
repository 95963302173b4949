/** Symbols that answers name, as the language servers know them. Those outside of the open folders are left out. */

import * as vscode from "vscode";

import { showWarning } from "../common/notices";
import { isInside } from "../common/paths";

const MOST = 50;
const SECONDS = 5;

/** Those of the names that lead somewhere; a language server that is slow knows none. */
export async function knownSymbols(names: readonly string[]): Promise<string[]> {
  const found = await Promise.all(names.slice(0, MOST).map(async (name) => ((await placesOf(name)).length > 0 ? [name] : [])));
  return found.flat();
}

/** Opens the symbol; the user chooses among several of that name. */
export async function openSymbol(name: string): Promise<void> {
  const places = await placesOf(name);
  const rows = places.map((place) => ({
    label: place.name,
    description: [place.containerName, vscode.workspace.asRelativePath(place.location.uri)].filter((part) => part !== "").join(" · "),
    place,
  }));
  const chosen = rows.length > 1 ? await vscode.window.showQuickPick(rows, { title: vscode.l10n.t("North: Places of {0}", name) }) : rows[0];
  if (rows.length === 0) void showWarning(vscode.l10n.t("The language servers do not know the symbol {0}.", name));
  if (chosen === undefined) return;
  const { uri, range } = chosen.place.location;
  await vscode.window.showTextDocument(uri, { selection: new vscode.Range(range.start, range.start) });
}

async function placesOf(name: string): Promise<vscode.SymbolInformation[]> {
  const parts = name.split(/\.|::|#/);
  const last = parts.at(-1) ?? name;
  const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
  const asked = vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>("vscode.executeWorkspaceSymbolProvider", last);
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, SECONDS * 1000, undefined).unref());
  const all = (await Promise.race([asked, late]).then((found) => found, () => undefined)) ?? [];
  const here = all.filter(({ name: one, location: { uri } }) => plain(one) === last && uri.scheme === "file" && isInside(uri.fsPath, folders));
  const within = parts.length < 2 ? [] : here.filter(({ containerName }) => containerName.split(/\.|::|#|\//).at(-1) === parts.at(-2));
  // A module's or an object's name is not always what holds the symbol.
  return within.length > 0 ? within : here;
}

/** Some servers say the parameters, too. */
function plain(name: string): string {
  return name.replace(/\(.*$/s, "");
}
