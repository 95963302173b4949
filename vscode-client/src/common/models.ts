/** The model of a conversation: which one it is, and leaving the one that is there without a key. */

import * as vscode from "vscode";

import type { ConfigOption } from "../acp";
import type { Session } from "../chat/session";

interface Model {
  selector: string;
  name: string;
  provider: string;
}

/** The model's name; empty while there is no conversation. */
export function modelName(options: ConfigOption[]): string {
  const option = options.find(({ id }) => id === "model");
  return option?.options.find(({ value }) => value === option.currentValue)?.name ?? option?.currentValue ?? "";
}

/** The offline model is the one that is there without any key. */
export function isOffline(options: ConfigOption[]): boolean {
  const value = options.find(({ id }) => id === "model")?.currentValue ?? "";
  return value === "offline" || value.startsWith("offline/");
}

/** A conversation stays with the offline model until another one is chosen: a new key alone changes nothing there. */
export async function leaveOfflineModel(session: Session, provider: string): Promise<void> {
  if (!isOffline(session.options)) return;
  const { models } = await session.ask<{ models: Model[] }>("_north/models/list", { available: true });
  const items = models.filter((model) => model.provider === provider).map(({ name, selector }) => ({ label: name, description: selector, value: selector }));
  if (items.length === 0) return;
  const placeHolder = vscode.l10n.t("Which model is to answer from now on, instead of the offline one?");
  const chosen = await vscode.window.showQuickPick(items, { title: vscode.l10n.t("North: Choose a Model"), placeHolder, ignoreFocusOut: true });
  if (chosen !== undefined) await session.choose("model", chosen.value);
}
