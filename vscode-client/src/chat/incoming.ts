/** What the page may say: whatever else arrives is left out. */

import { type FromPage, PAGE_COMMANDS } from "../messages";

type Fields = Readonly<Record<string, unknown>>;
type Check = (fields: Fields) => boolean;

const text = (value: unknown): boolean => typeof value === "string";
const PICKERS: readonly unknown[] = ["mode", "model", "thought_level", "approvals"];
const COMMANDS: readonly unknown[] = PAGE_COMMANDS;

const checks: Record<FromPage["type"], Check> = {
  ready: () => true,
  focused: () => true,
  stop: () => true,
  detach: () => true,
  send: (fields) => text(fields.text),
  steer: (fields) => text(fields.text),
  retry: (fields) => typeof fields.now === "boolean",
  open: (fields) => text(fields.file) && (fields.line === null || Number.isInteger(fields.line)),
  link: (fields) => text(fields.address),
  decide: (fields) => text(fields.id) && text(fields.option) && text(fields.comment),
  review: (fields) => text(fields.id),
  pick: (fields) => PICKERS.includes(fields.picker),
  run: (fields) => COMMANDS.includes(fields.command),
};

export function readMessage(message: unknown): FromPage | undefined {
  if (typeof message !== "object" || message === null || !("type" in message)) return undefined;
  const { type } = message;
  if (typeof type !== "string" || !Object.hasOwn(checks, type)) return undefined;
  return checks[type as FromPage["type"]](message as Fields) ? (message as FromPage) : undefined;
}
