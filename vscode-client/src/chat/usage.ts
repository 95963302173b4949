/** What a conversation has used, in words. */

import { l10n } from "vscode";

import type { Usage } from "../acp";

/** On one line beside the buttons. */
export function usageText({ used, size, cost }: Usage): string {
  const full = size > 0 ? l10n.t("{0} %", Math.round((100 * used) / size)) : "";
  const money = cost && cost.amount > 0 ? amount(cost.amount, cost.currency) : "";
  return [full, money].filter((part) => part !== "").join(" · ");
}

/** All that is known, a row each. */
export function usageRows(usage: Usage): [name: string, value: string][] {
  const { used, size, cost } = usage;
  const counts = usage._meta?.north ?? {};
  const rows: [string, string][] = [];
  if (size > 0) rows.push([l10n.t("Context"), l10n.t("{0} of {1} tokens", count(used), count(size))]);
  const told: [string, number | undefined][] = [
    [l10n.t("Input"), counts.input],
    [l10n.t("Output"), counts.output],
    [l10n.t("Read from the cache"), counts.cacheRead],
    [l10n.t("Written to the cache"), counts.cacheWrite],
    [l10n.t("All tokens"), counts.tokens],
  ];
  for (const [name, value] of told) if (value !== undefined) rows.push([name, count(value)]);
  const unknown = counts.priced === false ? ` ${l10n.t("and what has no known price")}` : "";
  if (cost) rows.push([l10n.t("Cost"), `${amount(cost.amount, cost.currency)}${unknown}`]);
  if (counts.allTimeCostUsd !== undefined) rows.push([l10n.t("All conversations"), amount(counts.allTimeCostUsd, "USD")]);
  if (counts.estimated === true) rows.push([l10n.t("Counted by"), l10n.t("North: the provider gave no numbers")]);
  return rows;
}

function count(tokens: number): string {
  return tokens.toLocaleString("en-US");
}

function amount(value: number, currency: string): string {
  if (value > 0 && value < 0.0005) return `<${amount(0.001, currency)}`;
  const digits = value > 0 && value < 1 ? 3 : 2;
  return currency === "USD" ? `$${value.toFixed(digits)}` : `${value.toFixed(digits)} ${currency}`;
}
