/** What `extension-people.mjs` looks at in each state of the chat, and what it has measured so far. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";

import { accessibilityTree, contrasts, faults, flat, frameOf, outline, recordThemes, THEMES, violations, wear } from "./audit.mjs";
import { artifacts, screenshot } from "./workbench.mjs";

export const shot = (page, name) => screenshot(page, `people-${name}`);

/** Kinds of text and controls, for the table of contrasts: the first selector that fits counts. */
const KINDS = [
  [".c-comment", "code: comment"], [".c-string", "code: string"], [".c-number", "code: number"], [".c-keyword", "code: keyword"],
  [".c-call", "code: call"], [".c-added, .c-removed", "code: diff"], [".code-head", "code: head"], [".hunk .added", "diff: added"],
  [".hunk .removed", "diff: removed"], [".hunk", "diff: same"], [".added, .removed", "counts"], ["a", "link"], [".offer.active", "suggestion, chosen"],
  [".offer", "suggestion"], [".chip", "chip"], ["#permitted", "shield"], [".picker", "picker"], ["button.secondary", "button, secondary"],
  ["button.plain", "button, plain"], ["button", "button"], ["th, td", "table"], [".reason", "reason"], [".failure", "failure"], [".notice", "notice"],
  [".retry", "wait"], [".thought", "thoughts"], [".hint", "hint"], [".user", "prompt"], [".answer", "answer"], [".tool", "tool call"],
  ["#waiting", "question"], ["#welcome", "first page"], ["#problem", "problem"], ["footer", "footer"],
];

/** For each theme, what was measured in all states. */
export const measured = new Map(THEMES.map((label) => [label, []]));

/** Those of VS Code, once they were chosen. */
let themes;

/**
 * In each theme: axe-core's rules and the contrasts; the tree that screen readers get, once, which is the answer. Leaves
 * pictures and the tree behind.
 */
export async function auditedPage({ chat, page }, state) {
  const frame = await frameOf(chat.frame);
  const wrong = [];
  themes ??= await recordThemes(page, chat.frame);
  for (const theme of themes) {
    await wear(frame, theme, "--vscode-sideBar-background");
    const found = await violations(frame, { isFine: isReachedByArrows });
    wrong.push(...found.map((one) => `${theme.label}: ${one}`));
    const ratios = await contrasts(frame, KINDS);
    measured.get(theme.label).push(...ratios);
    const tooLow = ratios.filter(({ ratio, least }) => ratio < least);
    wrong.push(...tooLow.map(({ kind, ratio, example }) => `${theme.label}: ${kind} has a contrast of ${ratio.toFixed(2)}: ${example}`));
    await shot(page.locator("iframe.webview.ready"), `${state}-${theme.label.toLowerCase().replaceAll(" ", "-")}`);
  }
  const nodes = await accessibilityTree(page, frame);
  await writeFile(path.join(artifacts, `people-${state}.txt`), outline(nodes));
  wrong.push(...faults(nodes));
  assert.deepEqual([...new Set(wrong)], [], wrong.join("\n"));
  return nodes;
}

/** What scrolls in a row of the conversation is a stop of the Tab key when the user is in that row, and then only: axe-core cannot know. */
function isReachedByArrows({ id, selector }) {
  return id === "scrollable-region-focusable" && document.querySelector(selector).matches("#rows .scrolls");
}

/** The names of the nodes with a role. */
export function named(nodes, role) {
  return flat(nodes).filter((node) => node.role === role).map(({ name }) => name);
}

export function holds(nodes, role, ...names) {
  const there = named(nodes, role);
  for (const name of names) assert.ok(there.some((one) => (name instanceof RegExp ? name.test(one) : one === name)), `no ${role} ${name} among ${there}`);
}
