/** A tool call's row: one line, and what there is to see of it, which is drawn when it is opened. */

import type { Item, ShownDiff, ToolItem } from "../messages";
import { codeBlock, updateCode } from "./code";
import { button, element, icon, iconButton, screenReaderText, scrolls, setText } from "./elements";
import { foundLines } from "./found";
import { TOOL_STATUS } from "./names";
import { render } from "./streamedMarkdown";
import type { Actions } from "./rows";
import { taskList } from "./tasks";
import { WORDS } from "./texts";

const ICONS = { pending: "circle-large-outline", in_progress: "loading", completed: "check", failed: "error" };

export function showTool(row: HTMLElement, actions: Actions): (item: Item) => void {
  const view = new ToolView(row, actions);
  return (item) => item.kind === "tool" && view.show(item);
}

class ToolView {
  private item: ToolItem | undefined;
  /** What the user chose; before that, what is going on is open, and what is over is not. */
  private chosen: boolean | undefined;
  private drawn = "";
  private readonly mark = icon("");
  private readonly status = screenReaderText("");
  private readonly title = element("span", "title");
  private readonly call = button("", "call plain", () => this.follow());
  private readonly counts = element("span", "counts");
  private readonly note = element("span", "note");
  private readonly fold = iconButton("chevron-right", WORDS.showDetails, () => this.toggle());
  private readonly reason = element("p", "reason");
  private readonly details = element("div", "details");

  constructor(
    row: HTMLElement,
    private readonly actions: Actions,
  ) {
    const line = element("div", "line");
    this.call.append(this.mark, this.status, this.title);
    line.append(this.call, this.note, this.counts, this.fold);
    this.details.hidden = true;
    row.append(line, this.reason, this.details);
  }

  show(item: ToolItem): void {
    this.item = item;
    const { status } = item;
    const running = status === "in_progress" ? " codicon-modifier-spin" : "";
    this.mark.className = `mark ${status} codicon codicon-${ICONS[status]}${running}`;
    setText(this.status, `${TOOL_STATUS[status]}: `);
    setText(this.title, item.title.replaceAll("`", ""));
    this.call.title = item.title;
    this.call.disabled = item.file === undefined && !this.hasDetails;
    this.showCounts(item);
    const code = item.exitCode ?? 0;
    setText(this.note, item.note ?? (code === 0 ? "" : WORDS.exitCode(code)));
    const reason = status === "failed" ? reasonOf(item) : "";
    this.reason.hidden = reason === "" || this.isOpen;
    this.reason.classList.toggle("end", code !== 0);
    setText(this.reason, reason);
    this.fold.hidden = !this.hasDetails;
    this.fold.setAttribute("aria-label", WORDS.detailsOf(this.title.textContent ?? ""));
    this.draw();
  }

  private get hasDetails(): boolean {
    const { item } = this;
    return item !== undefined && (item.parts.length > 0 || item.input.length > 0);
  }

  private get isOpen(): boolean {
    return this.hasDetails && (this.chosen ?? (this.item !== undefined && isLive(this.item)));
  }

  private follow(): void {
    const { item } = this;
    if (item?.file !== undefined) this.actions.open(item.file, item.line ?? null);
    else this.toggle();
  }

  private toggle(): void {
    this.chosen = !this.isOpen;
    if (this.item !== undefined) this.show(this.item);
  }

  private showCounts(item: ToolItem): void {
    const diffs = item.parts.filter((part) => part.kind === "diff");
    this.counts.replaceChildren();
    if (diffs.length === 0) return;
    const sum = (key: "added" | "removed"): number => diffs.reduce((total, diff) => total + diff[key], 0);
    this.counts.append(element("span", "added", `+${sum("added")}`), element("span", "removed", `−${sum("removed")}`));
  }

  /** Only what has changed, and only while it is open. */
  private draw(): void {
    const { item, isOpen } = this;
    this.fold.setAttribute("aria-expanded", String(isOpen));
    this.fold.firstElementChild?.classList.replace(
      isOpen ? "codicon-chevron-right" : "codicon-chevron-down",
      isOpen ? "codicon-chevron-down" : "codicon-chevron-right",
    );
    this.details.hidden = !isOpen;
    if (!isOpen || item === undefined) return;
    const state = JSON.stringify([item.parts, item.input, item.shortened, item.artifact]);
    if (state === this.drawn) return;
    this.drawn = state;
    if (this.growOutput(item)) return;
    this.details.replaceChildren(...inputOf(item), ...item.parts.map((part, index) => this.part(item, part, index)));
    if (item.shortened !== undefined) this.details.append(element("p", "hint", item.shortened));
    const { artifact } = item;
    if (artifact !== undefined) this.details.append(button(WORDS.showWhole, "secondary", () => this.actions.showWhole(artifact)));
    this.followOutput();
  }

  /** Output that comes in goes on where it stands. */
  private growOutput(item: ToolItem): boolean {
    const [part, ...others] = item.parts;
    const block = this.details.querySelector(":scope > .output > .code");
    if (item.status !== "in_progress" || part?.kind !== "text" || !part.code || others.length > 0) return false;
    if (!(block instanceof HTMLElement)) return false;
    updateCode(block, codeOf(part.text));
    this.followOutput();
    return true;
  }

  /** While a command runs, its last lines are in view. */
  private followOutput(): void {
    if (this.item?.status !== "in_progress") return;
    for (const pre of this.details.querySelectorAll(".output pre")) pre.scrollTop = pre.scrollHeight;
  }

  private part(item: ToolItem, part: ToolItem["parts"][number], index: number): HTMLElement {
    if (part.kind === "diff") return diff(part, this.actions, () => this.actions.openDiff(item.id, index));
    if (part.kind === "tasks") return taskList(part.rows, this.actions);
    if (part.kind === "terminal") return button(WORDS.showTerminal, "secondary", () => this.actions.showTerminal());
    const found = part.code && LOOKS.has(item.does) && item.status === "completed" ? foundLines(part.text) : undefined;
    if (found !== undefined) return found;
    const made = element("div", part.code ? "output" : "words");
    made.append(part.code ? codeBlock(codeOf(part.text)) : render(part.text));
    return made;
  }
}

const LAST_LINES = 4;

/** The first words of what a failed call came to; of a command that has run, its last lines, without what is told to the
 * model below them. */
function reasonOf({ parts, exitCode }: ToolItem): string {
  const text = parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n").trim();
  if (exitCode === undefined) return text;
  const lines = text.split("\n");
  const end = lines.lastIndexOf(`exit code ${exitCode}`);
  const printed = lines.slice(0, end === -1 ? undefined : end).filter((line) => /[\p{L}\p{N}]/u.test(line)); // no rules
  return printed.slice(-LAST_LINES).join("\n");
}

/** What such a call shows are places. */
const LOOKS = new Set(["read", "search"]);

/** What can be watched: a command's output, an edit that is being written. */
function isLive(item: ToolItem): boolean {
  if (item.parts.some((part) => part.kind === "diff" && part.preview)) return true;
  return item.status === "in_progress" && item.parts.some((part) => part.kind !== "diff");
}

function codeOf(text: string): Parameters<typeof codeBlock>[0] {
  return { kind: "code", language: "", name: "", text };
}

/** The arguments; not what is seen in the diff, in the rows of agents, or was said by the title. */
function inputOf(item: ToolItem): HTMLElement[] {
  const says = item.parts.some((part) => part.kind === "diff" || part.kind === "tasks");
  const rows = says ? [] : item.input;
  if (rows.length === 0) return [];
  const made = element("dl", "input");
  for (const { name, value } of rows) {
    const shown = element("dd", "", "");
    shown.append(scrolls(element("div", "value", value), name));
    made.append(element("dt", "", name), shown);
  }
  return [made];
}

const CHANGES = { create: WORDS.created, update: "", delete: WORDS.deleted, rename: WORDS.moved };

function diff(part: ShownDiff, actions: Actions, open: () => void): HTMLElement {
  const made = element("div", part.preview ? "diff preview" : "diff");
  const head = element("div", "diff-head");
  const first = part.hunks[0];
  const name = button(part.name, "plain name", () => actions.open(part.path, first?.line ?? null));
  name.disabled = part.preview || part.change === "delete";
  head.append(name, element("span", "change", part.preview ? WORDS.beingWritten : CHANGES[part.change]));
  head.append(element("span", "added", `+${part.added}`), element("span", "removed", `−${part.removed}`));
  if (!part.preview) head.append(iconButton("diff", WORDS.openDiff, open));
  made.append(head);
  for (const hunk of part.hunks) {
    const body = scrolls(element("pre", "hunk"), WORDS.linesFrom(hunk.line));
    for (const text of hunk.lines) body.append(element("span", SIGNS[text.charAt(0)] ?? "same", `${text}\n`));
    made.append(body);
  }
  if (part.left > 0) made.append(element("p", "hint", WORDS.moreLines(part.left)));
  return made;
}

const SIGNS: Record<string, string> = { "+": "added", "-": "removed" };
