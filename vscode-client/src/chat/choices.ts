/** What the user chooses for a conversation, by the server's options: what the buttons say, and what can be chosen. */

import { l10n } from "vscode";

import type { Choice, ConfigOption } from "../acp";
import type { PickerButton, PickerId } from "../messages";

/** What is asked about is two options of the server's, and one choice for the user. */
const APPROVALS = ["_edits", "_shell"] as const;
const ASKS = "review";

/** One thing that can be chosen: an option's value. */
export interface Offer {
  option: string;
  value: string;
  label: string;
  detail: string;
  current: boolean;
  /** It lets more happen without a question than before. */
  loosens: boolean;
}

export interface OfferGroup {
  name: string;
  offers: Offer[];
}

export function pickerButtons(options: ConfigOption[]): PickerButton[] {
  const buttons: PickerButton[] = [];
  const add = (id: PickerId, title: string): void => {
    const option = options.find((one) => one.id === id);
    if (option !== undefined) buttons.push({ id, label: nameOf(option), title });
  };
  add("mode", l10n.t("What North may do"));
  add("model", l10n.t("The model that answers"));
  add("thought_level", l10n.t("How much the model thinks"));
  const approvals = approvalsLabel(options);
  if (approvals !== "") buttons.push({ id: "approvals", label: approvals, title: l10n.t("What North asks about") });
  return buttons;
}

/** What can be chosen at a button; approvals in groups. */
export function offersOf(options: ConfigOption[], picker: PickerId): OfferGroup[] {
  const ids: readonly string[] = picker === "approvals" ? APPROVALS : [picker];
  return options
    .filter((option) => ids.includes(option.id))
    .map((option) => ({ name: option.name, offers: option.options.map((choice) => offer(option, choice)) }));
}

function offer(option: ConfigOption, { value, name, description }: Choice): Offer {
  const current = value === option.currentValue;
  const asks = (APPROVALS as readonly string[]).includes(option.id);
  const detail = description ?? (value === name ? "" : value);
  return { option: option.id, value, label: name, detail, current, loosens: asks && value !== ASKS && !current };
}

function approvalsLabel(options: ConfigOption[]): string {
  const [edits, shell] = APPROVALS.map((id) => options.find((option) => option.id === id)?.currentValue);
  if (edits === undefined && shell === undefined) return "";
  const free = [edits, shell].map((value) => value !== undefined && value !== ASKS);
  if (free[0] && free[1]) return l10n.t("Accepts edits, runs commands");
  if (free[0]) return l10n.t("Accepts edits");
  return free[1] ? l10n.t("Runs commands") : l10n.t("Asks first");
}

function nameOf({ currentValue, options }: ConfigOption): string {
  return options.find((choice) => choice.value === currentValue)?.name ?? currentValue;
}
