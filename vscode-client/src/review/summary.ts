/** The files of an edit as a list, for the chat. Knows no editor. */

import type { ChangedFile, Diff } from "../acp";
import { FileReview } from "./hunks";

/** In Markdown; empty for a single file, which the question names. */
export function listFiles(diffs: Diff[], told: ReadonlyMap<string, ChangedFile>, nameOf: (path: string) => string): string {
  const paths = [...new Set([...told.keys(), ...diffs.map((diff) => diff.path)])];
  if (paths.length < 2) return "";
  const rows = paths.map((path) => {
    const diff = diffs.find((one) => one.path === path);
    return `- ${code(nameOf(path))}${diff === undefined ? "" : ` ${counts(diff)}`}`;
  });
  return rows.join("\n");
}

function counts({ oldText, newText }: Diff): string {
  const { added, removed } = new FileReview(oldText ?? "", newText, []).changedLines(newText);
  return `+${added} −${removed}`;
}

/** A name is not read as Markdown, whatever is in it. */
function code(name: string): string {
  const longest = Math.max(0, ...(name.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  const pad = longest > 0 ? " " : "";
  return `${fence}${pad}${name.replace(/\s/g, " ")}${pad}${fence}`;
}
