/** What the chat's page says, checked before anything is done: the page shows texts that others wrote. */

import { type FromPage, PAGE_COMMANDS, PICKERS, SOURCE_NAMES } from "./messages";

type Check<T> = (value: unknown) => value is T;
type Fields<Message> = { [Name in Exclude<keyof Message, "type">]-?: Check<Message[Name]> };

const text: Check<string> = (value) => typeof value === "string";
const flag: Check<boolean> = (value) => typeof value === "boolean";
const texts: Check<string[]> = (value): value is string[] => Array.isArray(value) && value.every(text);
const size: Check<number> = (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const lineOrNull: Check<number | null> = (value): value is number | null =>
  value === null || (Number.isSafeInteger(value) && Number(value) >= 0);

/** One of a few words; any other one is refused. */
function word<Word extends string>(words: readonly Word[]): Check<Word> {
  return (value): value is Word => words.some((known) => known === value);
}

/** Every message that the page may send, with what its fields have to be. */
const MESSAGES: { [Type in FromPage["type"]]: Fields<Extract<FromPage, { type: Type }>> } = {
  ready: {},
  send: { text },
  steer: { text },
  retry: { now: flag },
  stop: {},
  focused: {},
  detach: { id: text },
  attach: {},
  attachSuggested: {},
  attachSource: { source: word(SOURCE_NAMES) },
  attachPath: { path: text },
  attachUris: { uris: texts },
  picture: { id: text, mimeType: text, data: text, width: size, height: size },
  complete: { request: size, query: text },
  open: { file: text, line: lineOrNull },
  link: { address: text },
  place: { path: text, line: lineOrNull },
  diff: { id: text, part: size },
  code: { what: word(["copy", "insert", "apply"]), text, name: text, language: text },
  failure: { action: word(["storeKey", "again", "switchModel"]) },
  pick: { picker: word(PICKERS) },
  decide: { id: text, option: text, comment: text },
  review: { id: text },
  changes: { id: text, act: word(["show", "undo", "redo"]) },
  run: { command: word(PAGE_COMMANDS) },
};

/** The message, or undefined for one that the page never sends. */
export function fromPage(value: unknown): FromPage | undefined {
  if (typeof value !== "object" || value === null || !("type" in value)) return undefined;
  const { type } = value;
  if (typeof type !== "string" || !Object.hasOwn(MESSAGES, type)) return undefined;
  const fields: Record<string, (field: unknown) => boolean> = MESSAGES[type as FromPage["type"]];
  const given = new Map<string, unknown>(Object.entries(value));
  const fits = Object.entries(fields).every(([name, check]) => check(given.get(name)));
  return fits ? (value as FromPage) : undefined;
}
