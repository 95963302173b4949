/** Storing a provider's API key: typed into a password field, tried out and kept by the server, never shown again. */

import * as vscode from "vscode";

import type { Session } from "../chat/session";
import { reason } from "./logger";

interface Known {
  keys: { provider: string; ending: string }[];
  providers: { id: string; name: string }[];
}

interface Stored {
  key?: { ending: string };
}

const ANYWAY = "Store It All the Same";

export async function storeKey(session: Session): Promise<void> {
  const { keys, providers } = await session.ask<Known>("_north/keys/list", {});
  const items = providers.map(({ id, name }) => {
    const stored = keys.filter((key) => key.provider === id).map((key) => key.ending);
    return { label: name, description: id, detail: stored.length > 0 ? `stored: ${stored.join(", ")}` : "", id };
  });
  const title = "North: Store an API Key";
  const chosen = await vscode.window.showQuickPick(items, { title, placeHolder: "The provider", matchOnDescription: true });
  if (chosen === undefined) return;
  const prompt = `The API key of ${chosen.label}`;
  const key = await vscode.window.showInputBox({ title, prompt, password: true, ignoreFocusOut: true });
  if (key === undefined || key.trim() === "") return;
  const given = { provider: chosen.id, key: key.trim() };
  try {
    tell(chosen.label, await session.ask<Stored>("_north/keys/set", given));
  } catch (error) {
    if (!mayForce(error)) throw error;
    const answer = await vscode.window.showWarningMessage(`North: ${reason(error)}`, { modal: true }, ANYWAY);
    if (answer === ANYWAY) tell(chosen.label, await session.ask<Stored>("_north/keys/set", { ...given, force: true }));
  }
}

function mayForce(error: unknown): boolean {
  const data = (error as { data?: unknown } | undefined)?.data;
  return (data as { mayForce?: unknown } | undefined)?.mayForce === true;
}

function tell(provider: string, { key }: Stored): void {
  void vscode.window.showInformationMessage(`North has stored the key ${key?.ending ?? ""} of ${provider}.`);
}
