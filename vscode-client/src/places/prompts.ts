/** What the entries of the menus ask. These texts are the model's, and shown in the conversation as they are sent. */

import { fenced } from "../common/fences";
import { shortened } from "./problems";

export const EXPLAIN = "Explain this code: what it does, how it fits in, and what is easy to get wrong about it.";
export const TESTS =
  "Write tests for this code, where and how this project has its tests. Cover what can go wrong, too, and run them if you can.";
export const DOCUMENT = "Write the documentation comments that this code lacks, in the style of this project. Change nothing else.";
export const FIX = "Find what is wrong with this code, and fix it.";
export const REVIEW =
  "Review these changes. Name what is wrong, what may break, and what is missing, the worst first, each with its file and line. Change nothing.";

const MOST_CHARACTERS = 4_000;

export function commitPrompt(begun: string): string {
  const more = begun === "" ? "" : `\n\nThe user has begun it like this, keep to that: ${begun}`;
  return `Write the message of a commit with these changes: a subject of at most 72 characters in the imperative, and where the reasons are not plain, an empty line and a few lines about them. Answer with the message alone, without quotes, marks or any word around it. Use no tools.${more}`;
}

/** The message in an answer, without what models put around it all the same. */
export function commitMessageOf(answer: string): string {
  const text = answer.replaceAll("\r\n", "\n").trim();
  const fenced = /```[a-z]*\n([\s\S]*?)\n?```/.exec(text);
  const message = (fenced?.[1] ?? text).trim();
  const quoted = /^(["'`])([^\n]*)\1$/.exec(message);
  return (quoted?.[2] ?? message).trim();
}

export interface Failure {
  name: string;
  message: string;
  expected?: string;
  actual?: string;
}

export function failureText({ name, message, expected, actual }: Failure): string {
  const parts = [`The test "${name}" fails. Find out why, and fix what is wrong: the code, or the test if that is what is wrong.`];
  if (message !== "") parts.push(block(message));
  if (expected !== undefined && actual !== undefined) parts.push("Expected:", block(expected), "Actual:", block(actual));
  return parts.join("\n\n");
}

function block(text: string): string {
  return fenced(shortened(text.trimEnd(), MOST_CHARACTERS), "").trimEnd();
}
