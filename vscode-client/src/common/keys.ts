/** Storing a provider's API key: typed into a password field, tried out and kept by the server, never shown again. */

import * as vscode from "vscode";

import { isOffline } from "../chat/choices";
import { pick } from "../chat/pickers";
import type { Session } from "../chat/session";
import { reason } from "./logger";
import { showInfo, showWarning } from "./notices";

interface Known {
  keys: { provider: string; ending: string; rest?: string | null }[];
  providers: { id: string; name: string; signsIn?: boolean }[];
}

interface Stored {
  key?: { ending: string };
}

export async function storeKey(session: Session): Promise<void> {
  const { keys, providers } = await session.ask<Known>("_north/keys/list", {});
  const items = providers.map(({ id, name, signsIn }) => {
    const stored = keys.filter((key) => key.provider === id).map(({ ending, rest }) => (rest ? `${ending} ${rest}` : ending));
    const detail = stored.length > 0 ? vscode.l10n.t("stored: {0}", stored.join(", ")) : "";
    return { label: name, description: id, detail: signsIn ? vscode.l10n.t("signs you in, in a browser") : detail, id, signsIn };
  });
  const title = vscode.l10n.t("North: Store an API Key");
  const chosen = await vscode.window.showQuickPick(items, { title, placeHolder: vscode.l10n.t("The provider"), matchOnDescription: true });
  if (chosen === undefined) return;
  if (chosen.signsIn) return void (await session.send(`/login ${chosen.id}`));
  const prompt = vscode.l10n.t("The API key of {0}", chosen.label);
  const key = await vscode.window.showInputBox({ title, prompt, password: true, ignoreFocusOut: true });
  if (key === undefined || key.trim() === "") return;
  const given = { provider: chosen.id, key: key.trim() };
  const told = (stored: Stored): void => void tell(session, chosen.label, stored);
  try {
    told(await session.ask<Stored>("_north/keys/set", given));
  } catch (error) {
    if (!mayForce(error)) throw error;
    const anyway = vscode.l10n.t("Store It Anyway");
    const answer = await showWarning(`North: ${reason(error)}`, { modal: true }, anyway);
    if (answer === anyway) told(await session.ask<Stored>("_north/keys/set", { ...given, force: true }));
  }
}

function mayForce(error: unknown): boolean {
  const data = (error as { data?: unknown } | undefined)?.data;
  return (data as { mayForce?: unknown } | undefined)?.mayForce === true;
}

/** A conversation keeps its model, so one that has none yet has to be told of it. */
async function tell(session: Session, provider: string, { key }: Stored): Promise<void> {
  void vscode.commands.executeCommand("setContext", "north.hasKey", true); // a step of the walkthrough
  const text = vscode.l10n.t("North has stored the key {0} of {1}.", key?.ending ?? "", provider);
  if (!isOffline(session.options)) return void showInfo(text);
  const choose = vscode.l10n.t("Choose a Model");
  const chosen = await showInfo(`${text} ${vscode.l10n.t("This conversation still uses the offline model.")}`, choose);
  if (chosen === choose) await pick(session, "model");
}
