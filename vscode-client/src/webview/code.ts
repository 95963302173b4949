/** Blocks of code: colored, and with what can be done with them. */

import type { CodeUse } from "../messages";
import { iconButton, scrolls } from "./elements";
import { highlight, type Piece } from "./highlight";
import { post } from "./host";
import { say } from "./live";
import type { Node } from "./tree";
import { WORDS } from "./texts";

type Code = Extract<Node, { kind: "code" }>;

/** Languages whose code can be typed into a terminal. */
const SHELLS = new Set(["bash", "console", "fish", "sh", "shell", "shellsession", "shell-session", "zsh"]);
/** Languages that VS Code draws in its preview of Markdown. */
const DIAGRAMS = new Set(["mermaid"]);
/** What a block holds now: its buttons take it from here. */
const shown = new WeakMap<HTMLElement, { code: Code; pieces: Piece[] }>();

export function codeBlock(code: Code): HTMLElement {
  const made = document.createElement("div");
  made.className = "code";
  const head = document.createElement("div");
  head.className = "code-head";
  const label = document.createElement("span");
  label.className = "language";
  head.append(
    label,
    iconButton("copy", WORDS.copy, () => act(made, "copy")),
    iconButton("insert", WORDS.insert, () => act(made, "insert")),
    iconButton("git-pull-request-go-to-changes", WORDS.apply, () => act(made, "apply")),
    iconButton("terminal", WORDS.toTerminal, () => act(made, "terminal")),
    iconButton("type-hierarchy-sub", WORDS.diagram, () => act(made, "diagram")),
  );
  const pre = scrolls(document.createElement("pre"), WORDS.code);
  pre.append(document.createElement("code"));
  made.append(head, pre);
  updateCode(made, code);
  return made;
}

/** Always can: the block is changed from the first piece on that differs. */
export function updateCode(block: HTMLElement, code: Code): boolean {
  const body = block.querySelector("code");
  const label = block.querySelector(".language");
  if (body === null || label === null) return false;
  const before = shown.get(block);
  if (before?.code.text === code.text && before.code.language === code.language && before.code.name === code.name) return true;
  const pieces = highlight(code.text, code.language);
  patchPieces(body, before?.pieces ?? [], pieces);
  shown.set(block, { code, pieces });
  label.textContent = code.name === "" ? code.language : code.name;
  const language = code.language.toLowerCase();
  offer(block, "terminal", SHELLS.has(language));
  offer(block, "type-hierarchy-sub", DIAGRAMS.has(language));
  return true;
}

/** Shows the button with an icon, or hides it. */
function offer(block: HTMLElement, icon: string, isUseful: boolean): void {
  const button = block.querySelector(`.codicon-${icon}`)?.closest("button");
  if (button != null) button.hidden = !isUseful;
}

/** One span for each piece. */
function patchPieces(body: HTMLElement, before: Piece[], now: Piece[]): void {
  let same = 0;
  while (same < before.length && same < now.length && equal(before[same], now[same])) same += 1;
  const [old, next] = [before[same], now[same]];
  const child = body.childNodes[same]?.firstChild;
  if (old !== undefined && next?.kind === old.kind && next.text.startsWith(old.text) && child instanceof Text) {
    child.appendData(next.text.slice(old.text.length));
    same += 1;
  }
  while (body.childNodes.length > same) body.lastChild?.remove();
  for (const piece of now.slice(same)) {
    const span = document.createElement("span");
    span.className = `c-${piece.kind}`;
    span.append(document.createTextNode(piece.text));
    body.append(span);
  }
}

function equal(one: Piece | undefined, two: Piece | undefined): boolean {
  return one?.kind === two?.kind && one?.text === two?.text;
}

function act(block: HTMLElement, what: CodeUse): void {
  const code = shown.get(block)?.code;
  if (code === undefined) return;
  const { text, name, language } = code;
  post({ type: "code", what, text, name, language });
  if (what !== "copy") return;
  say(WORDS.copied);
  const copied = block.querySelector(".codicon-copy");
  copied?.classList.replace("codicon-copy", "codicon-check");
  setTimeout(() => copied?.classList.replace("codicon-check", "codicon-copy"), 1_500);
}
