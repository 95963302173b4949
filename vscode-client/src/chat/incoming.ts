/** What the page may say: whatever else arrives is left out. */

import { CODE_USES, COMPLETED_COMMANDS, type FromPage, PAGE_COMMANDS, PROMPT_ACTS, QUEUE_ACTS, SOURCE_NAMES, TASK_ACTS } from "../messages";

type Fields = Readonly<Record<string, unknown>>;
type Check = (fields: Fields) => boolean;

const text = (value: unknown): boolean => typeof value === "string";
const isForm = (values: unknown): boolean =>
  typeof values === "object" && values !== null && !Array.isArray(values) && Object.values(values).every((value) => ["string", "number", "boolean"].includes(typeof value) || (Array.isArray(value) && value.every(text)));
const isSent = (sent: unknown): boolean => typeof sent === "object" && sent !== null && "id" in sent && "text" in sent && text(sent.id) && text(sent.text);
const PICKERS: readonly unknown[] = ["mode", "model", "thought_level", "approvals"];
const ACTS: readonly unknown[] = ["show", "undo", "redo"];
const ELSEWHERE_ACTS: readonly unknown[] = ["takeOver", "fork"];
const ON_CODE: readonly unknown[] = CODE_USES;
const FAILURE_ACTIONS: readonly unknown[] = ["storeKey", "again", "switchModel"];
const SOURCES: readonly unknown[] = SOURCE_NAMES;
const COMMANDS: readonly unknown[] = PAGE_COMMANDS;
const COMPLETED: readonly unknown[] = COMPLETED_COMMANDS;
const ON_QUEUE: readonly unknown[] = QUEUE_ACTS;
const ON_TASKS: readonly unknown[] = TASK_ACTS;
const ON_PROMPTS: readonly unknown[] = PROMPT_ACTS;

const checks: Record<FromPage["type"], Check> = {
  ready: (fields) => Array.isArray(fields.unsettled) && fields.unsettled.every(isSent),
  focused: () => true,
  blurred: () => true,
  stop: () => true,
  detach: (fields) => text(fields.id),
  attach: () => true,
  attachSource: (fields) => SOURCES.includes(fields.source),
  attachPath: (fields) => text(fields.path),
  attachSymbol: (fields) => text(fields.id),
  attachUris: (fields) => Array.isArray(fields.uris) && fields.uris.every(text),
  picture: (fields) => [fields.id, fields.mimeType, fields.data].every(text) && Number.isInteger(fields.width) && Number.isInteger(fields.height),
  history: () => true,
  completeValue: (fields) => Number.isInteger(fields.request) && COMPLETED.includes(fields.command) && Array.isArray(fields.before) && fields.before.every(text),
  complete: (fields) => Number.isInteger(fields.request) && text(fields.query),
  send: isSent,
  steer: isSent,
  draft: (fields) => text(fields.text),
  retry: (fields) => typeof fields.now === "boolean",
  open: (fields) => text(fields.file) && (fields.line === null || Number.isInteger(fields.line)),
  link: (fields) => text(fields.address),
  decide: (fields) => [fields.id, fields.option, fields.comment, fields.command ?? ""].every(text),
  fill: (fields) => text(fields.id) && isForm(fields.values),
  review: (fields) => text(fields.id),
  changes: (fields) => text(fields.id) && ACTS.includes(fields.act),
  task: (fields) => text(fields.task) && ON_TASKS.includes(fields.act),
  work: (fields) => text(fields.prompt),
  replaced: (fields) => text(fields.compaction),
  wholeOutput: (fields) => text(fields.artifact),
  elsewhere: (fields) => ELSEWHERE_ACTS.includes(fields.act),
  prompt: (fields) => text(fields.entry) && ON_PROMPTS.includes(fields.act),
  stopEditing: () => true,
  queue: (fields) => text(fields.id) && ON_QUEUE.includes(fields.act),
  place: (fields) => text(fields.path) && (fields.line === null || Number.isInteger(fields.line)),
  symbols: (fields) => Array.isArray(fields.names) && fields.names.every(text),
  symbol: (fields) => text(fields.name),
  diff: (fields) => text(fields.id) && Number.isInteger(fields.part),
  code: (fields) => ON_CODE.includes(fields.what) && text(fields.text) && text(fields.name) && text(fields.language),
  failure: (fields) => FAILURE_ACTIONS.includes(fields.action),
  pick: (fields) => PICKERS.includes(fields.picker),
  run: (fields) => COMMANDS.includes(fields.command),
};

export function readMessage(message: unknown): FromPage | undefined {
  if (typeof message !== "object" || message === null || !("type" in message)) return undefined;
  const { type } = message;
  if (typeof type !== "string" || !Object.hasOwn(checks, type)) return undefined;
  return checks[type as FromPage["type"]](message as Fields) ? (message as FromPage) : undefined;
}
