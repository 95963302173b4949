/** What a row of the conversation is called for those who hear the page. Pure, but for the texts of elements. */

import type { Item } from "../messages";
import { WORDS } from "./texts";

export const TOOL_STATUS = { pending: WORDS.pending, in_progress: WORDS.running, completed: WORDS.done, failed: WORDS.failed };

export function nameOf(item: Item): string {
  switch (item.kind) {
    case "user":
      return WORDS.you;
    case "answer":
      return WORDS.north;
    case "thought":
      return WORDS.thoughts;
    case "tool":
      return `${TOOL_STATUS[item.status]}: ${item.title.replaceAll("`", "")}`;
    case "retry":
      return WORDS.wait(item);
    case "plan":
      return WORDS.plan;
    case "failure":
      return WORDS.failedAnswer;
    case "notice":
    case "summary":
    case "changes":
      return item.text;
    default:
      return item.heading;
  }
}

/** A row is read when one comes to it: so much of it. */
export const MOST_SAID = 1_000;

export function shortened(text: string): string {
  return text.length > MOST_SAID ? `${text.slice(0, MOST_SAID)} …` : text;
}

const APART = "p, li, tr, h1, h2, h3, h4, h5, h6, pre, blockquote, div, dt, dd, summary, button";

/** The words of an element, those of different blocks apart. */
export function wordsOf(element: Element): string {
  const parts: string[] = [];
  collect(element, parts);
  return parts.join("").replace(/[ \t]*\n\s*/g, "\n").trim();
}

function collect(node: Node, parts: string[]): void {
  for (const child of node.childNodes) {
    if (child.nodeType === TEXT) parts.push(child.textContent ?? "");
    else if (child.nodeType === ELEMENT && !(child as HTMLElement).hidden) {
      collect(child, parts);
      const made = child as Element;
      if (made.matches("td, th")) parts.push(", ");
      else if (made.matches(APART)) parts.push("\n");
    }
  }
}

const [ELEMENT, TEXT] = [1, 3];
