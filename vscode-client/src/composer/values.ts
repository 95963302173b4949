/** What can follow a slash command: the server's settings and their values, modes, models, levels of thinking. */

import type { ConfigOption } from "../acp";
import type { FoundValue } from "../messages";

/** What is needed of the conversation. */
export interface Choosing {
  readonly options: readonly ConfigOption[];
  ask<Result>(method: string, params: object): Promise<Result>;
}

interface Settings {
  settings: { key: string; text: string; value: unknown; choices: unknown[] }[];
}

const OPTIONS: Readonly<Record<string, string>> = { mode: "mode", model: "model", thinking: "thought_level" };
const FLAGS = ["--session", "--project", "--reset"];

/** `before`: the words between the command and the cursor. */
export async function valuesOf(conversation: Choosing, command: string, before: readonly string[]): Promise<FoundValue[]> {
  if (command === "config") return settingValues(await conversation.ask<Settings>("_north/config/list", {}), before);
  const option = conversation.options.find(({ id }) => id === OPTIONS[command]);
  if (option === undefined || before.length > 0) return [];
  return option.options.map(({ value, name, description }) => ({ value, detail: [name === value ? "" : name, description ?? ""].filter((part) => part !== "").join(" · ") }));
}

/** A setting, then what it can be, then what that applies to. */
function settingValues({ settings }: Settings, [key, value]: readonly string[]): FoundValue[] {
  if (key === undefined) return settings.map((row) => ({ value: row.key, detail: `${JSON.stringify(row.value)} · ${row.text}` }));
  const setting = settings.find((row) => row.key === key);
  if (setting === undefined) return [];
  const flags = FLAGS.filter((flag) => value === undefined || flag !== "--reset").map((flag) => ({ value: flag, detail: "" }));
  const choices = value === undefined ? setting.choices.map((choice) => ({ value: String(choice), detail: choice === setting.value ? "✓" : "" })) : [];
  return [...choices, ...flags];
}
