/** Calls that look at one thing after the other, folded into one line. */

import type { Item, ToolItem } from "../messages";
import { button, element, icon, setText } from "./elements";
import { WORDS } from "./texts";

/** Fewer are rows like any other. */
const FEWEST = 3;

interface Group {
  calls: Map<string, ToolItem>;
  box: HTMLElement;
  head: HTMLButtonElement;
  words: HTMLElement;
  mark: HTMLElement;
  members: HTMLElement;
  open: boolean;
}

export class Groups {
  private groups = new Map<string, Group>();

  constructor(private readonly rows: HTMLElement) {}

  clear(): void {
    this.groups.clear();
  }

  /** Puts a new row where it belongs: at the end, or into its group. */
  place(item: Item, row: HTMLElement): void {
    if (item.kind !== "tool" || item.group === undefined) return this.rows.append(row);
    let group = this.groups.get(item.group);
    if (group === undefined) {
      group = makeGroup();
      this.groups.set(item.group, group);
      this.rows.append(group.box);
    }
    group.members.append(row);
    this.note(item);
  }

  /** A call has changed. */
  note(item: Item): void {
    const group = item.kind === "tool" && item.group !== undefined ? this.groups.get(item.group) : undefined;
    if (group === undefined || item.kind !== "tool") return;
    group.calls.set(item.id, item);
    show(group);
  }
}

function makeGroup(): Group {
  const box = element("div", "group");
  const [mark, words] = [icon("chevron-right"), element("span", "title")];
  const head = button("", "plain call group-head", () => {
    group.open = !group.open;
    show(group);
  });
  head.tabIndex = -1; // see `walk.ts`
  head.append(mark, words);
  const members = element("div", "members");
  box.append(head, members);
  const group: Group = { calls: new Map(), box, head, words, mark, members, open: false };
  return group;
}

function show(group: Group): void {
  const { calls, box, head, words, mark, members } = group;
  const folded = calls.size >= FEWEST;
  // Nobody is in a place that closes.
  const open = (group.open ||= folded && !box.classList.contains("foldable") && members.contains(document.activeElement));
  box.classList.toggle("foldable", folded);
  head.hidden = !folded;
  members.hidden = folded && !open;
  head.setAttribute("aria-expanded", String(open));
  mark.className = `codicon codicon-chevron-${open ? "down" : "right"}`;
  const all = [...calls.values()];
  const searched = all.filter((call) => call.does === "search").length;
  const failed = all.filter((call) => call.status === "failed").length;
  const running = all.findLast((call) => call.status === "in_progress" || call.status === "pending");
  const done = WORDS.looked(all.length - searched, searched);
  const parts = [done, failed > 0 ? WORDS.failures(failed) : "", running === undefined ? "" : running.title.replaceAll("`", "")];
  const text = parts.filter((part) => part !== "").join(" · ");
  setText(words, text);
  if (!folded) return;
  box.setAttribute("role", "article");
  box.setAttribute("aria-label", text);
}
