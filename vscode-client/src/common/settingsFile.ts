/** Opening the server's settings file, which VS Code completes and checks by the schema that the extension brings. */

import { mkdir, open } from "node:fs/promises";
import { homedir } from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";

export async function openSettingsFile(file = settingsFile(process.env, homedir())): Promise<void> {
  await makeIfMissing(file);
  const document = await vscode.workspace.openTextDocument(vscode.Uri.file(file));
  // Comments and trailing commas are allowed in it.
  await vscode.languages.setTextDocumentLanguage(document, "jsonc");
  await vscode.window.showTextDocument(document);
}

/** Where the server looks for it. */
export function settingsFile(environment: NodeJS.ProcessEnv, home: string): string {
  const inHome = (folder: string) => (folder === "~" || folder.startsWith("~/") ? `${home}${folder.slice(1)}` : folder);
  const own = environment.NORTH_CONFIG_DIR;
  if (own !== undefined && own !== "") return path.join(inHome(own), "config.json");
  const base = environment.XDG_CONFIG_HOME;
  return path.join(base !== undefined && path.isAbsolute(base) ? base : path.join(home, ".config"), "north", "config.json");
}

async function makeIfMissing(file: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  try {
    const made = await open(file, "wx", 0o600);
    await made.writeFile("{\n  \n}\n");
    await made.close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
