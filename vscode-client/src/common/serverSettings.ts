/** The server's settings that the user has made in VS Code's own: the packed extension contributes them (scripts/settings.mjs). */

import * as vscode from "vscode";

const TAG = "north-server";

/** By the server's keys: only what the user has set himself, in no folder. */
export function serverSettings(keys: readonly string[]): Record<string, unknown> {
  const all = vscode.workspace.getConfiguration();
  const set = keys.map((key): [string, unknown] => [key, all.inspect(`north.${key}`)?.globalValue]);
  return Object.fromEntries(set.filter(([, value]) => value !== undefined));
}

/** Those that a manifest has. */
export function serverKeys(manifest: unknown): string[] {
  const sections = [fieldOf(fieldOf(manifest, "contributes"), "configuration")].flat();
  return sections.flatMap((section) => {
    const properties = fieldOf(section, "properties");
    const names = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
    return names.filter((name) => isTagged(fieldOf(properties, name))).map((name) => name.replace(/^north\./, ""));
  });
}

/** Their texts in the user's language, by the server's keys. */
export function textsOf(manifest: unknown): (key: string) => string | undefined {
  const keys = new Set(serverKeys(manifest));
  const sections = [fieldOf(fieldOf(manifest, "contributes"), "configuration")].flat();
  return (key) => {
    if (!keys.has(key)) return undefined;
    const properties = sections.map((section) => fieldOf(fieldOf(section, "properties"), `north.${key}`));
    const text = fieldOf(properties.find((property) => property !== undefined), "markdownDescription");
    return typeof text === "string" ? text : undefined;
  };
}

/** Calls `changed` when the user has changed one of them. */
export function watchServerSettings(keys: readonly string[], changed: () => void): vscode.Disposable {
  return vscode.workspace.onDidChangeConfiguration((change) => {
    if (keys.some((key) => change.affectsConfiguration(`north.${key}`))) changed();
  });
}

function isTagged(property: unknown): boolean {
  const tags = fieldOf(property, "tags");
  return Array.isArray(tags) && tags.includes(TAG);
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;
}
