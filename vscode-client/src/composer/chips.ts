/** What goes with the next message, and how it is shown: without the editor's API. */

import type { PromptBlock } from "../acp";
import type { Chip, ChipKind } from "../messages";

export interface Attachment {
  label: string;
  block: PromptBlock;
  /** More about it than the label says. */
  detail?: string;
}

export const MOST_PICTURES = 10;
export const MOST_ATTACHMENTS = 30;

export function kindOf({ block }: Attachment): ChipKind {
  switch (block.type) {
    case "image":
      return "picture";
    case "resource_link":
      return block.uri.endsWith("/") ? "folder" : "file";
    case "resource": {
      const { uri } = block.resource;
      const [scheme = ""] = uri.split(":", 1);
      if (scheme === "problems" || scheme === "terminal" || scheme === "diff" || scheme === "folder") return scheme;
      return uri.includes("#") ? "selection" : "file";
    }
    default:
      return "text";
  }
}

/** The MIME type of a picture, by the name of its file. */
export function pictureType(path: string): string | undefined {
  const ending = /\.(png|jpe?g|gif|webp|bmp)$/i.exec(path)?.[1]?.toLowerCase();
  return ending === undefined ? undefined : `image/${ending === "jpg" ? "jpeg" : ending}`;
}

interface Kept {
  id: string;
  attachment: Attachment;
}

/** In the order in which they were attached. `changed` is called when they are others. */
export class Attachments {
  private kept: Kept[] = [];
  private made = 0;

  constructor(private readonly changed: () => void) {}

  get all(): Attachment[] {
    return this.kept.map(({ attachment }) => attachment);
  }

  /** What is attached already is not attached once more. Throws with the reason when there are too many. */
  add(attachment: Attachment, id = this.newId()): void {
    if (this.kept.some((known) => isSame(known.attachment, attachment))) return;
    if (this.kept.length >= MOST_ATTACHMENTS) throw new TooManyAttachments(MOST_ATTACHMENTS, "things");
    if (kindOf(attachment) === "picture" && this.all.filter((known) => kindOf(known) === "picture").length >= MOST_PICTURES) {
      throw new TooManyAttachments(MOST_PICTURES, "pictures");
    }
    this.kept.push({ id, attachment });
    this.changed();
  }

  remove(id: string): void {
    this.kept = this.kept.filter((known) => known.id !== id);
    this.changed();
  }

  /** All of them, which are not there any more. */
  take(): Attachment[] {
    const taken = this.all;
    this.kept = [];
    if (taken.length > 0) this.changed();
    return taken;
  }

  has(attachment: Attachment): boolean {
    return this.kept.some((known) => isSame(known.attachment, attachment));
  }

  chips(): Chip[] {
    return this.kept.map(({ id, attachment }) => ({
      id,
      kind: kindOf(attachment),
      label: attachment.label,
      title: attachment.detail ?? attachment.label,
    }));
  }

  private newId(): string {
    this.made += 1;
    return `attachment-${this.made}`;
  }
}

export class TooManyAttachments extends Error {
  constructor(
    readonly most: number,
    readonly what: "things" | "pictures",
  ) {
    super(`at most ${most} ${what}`);
  }
}

function isSame(one: Attachment, other: Attachment): boolean {
  return JSON.stringify(one.block) === JSON.stringify(other.block);
}

/** What a block refers to, where it does. */
export function addressOf(block: PromptBlock): string | undefined {
  return block.type === "resource" ? block.resource.uri : block.type === "resource_link" ? block.uri : undefined;
}

/** A message as it is sent. */
export function blocksOf(text: string, attachments: readonly Attachment[]): PromptBlock[] {
  const words: PromptBlock[] = text === "" && attachments.length > 0 ? [] : [{ type: "text", text }];
  return [...words, ...attachments.map(({ block }) => block)];
}

/** What went with a message, in words. */
export function labelsOf(attachments: readonly Attachment[]): string {
  return attachments.map(({ label }) => label).join(" · ");
}

/** The first and the last line of a selection, from 1. One that ends at the beginning of a line has nothing of it. */
export function linesOf(start: { line: number }, end: { line: number; character: number }): [number, number] {
  const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
  return [start.line + 1, last + 1];
}

/** A file and the lines of it, as they are spoken of. */
export function placeOf(path: string, [first, last]: [number, number]): string {
  return last === first ? `${path}:${first}` : `${path}:${first}-${last}`;
}

export interface Problem {
  path: string;
  line: number;
  column: number;
  severity: "error" | "warning" | "information" | "hint";
  message: string;
  source: string;
}

const MOST_PROBLEMS = 100;

/** One line for each, the errors first. */
export function problemsText(problems: readonly Problem[]): string {
  const order = ["error", "warning", "information", "hint"];
  const sorted = [...problems].sort((one, other) => order.indexOf(one.severity) - order.indexOf(other.severity));
  const lines = sorted.slice(0, MOST_PROBLEMS).map(({ path, line, column, severity, message, source }) => {
    const from = source === "" ? "" : ` [${source}]`;
    return `${path}:${line}:${column}: ${severity}: ${message.replace(/\s*\n\s*/g, " ")}${from}`;
  });
  const more = sorted.length - lines.length;
  return [...lines, ...(more > 0 ? [`… and ${more} more`] : [])].join("\n");
}
