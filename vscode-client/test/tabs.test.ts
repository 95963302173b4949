import assert from "node:assert/strict";
import { test } from "node:test";

import type { ProposedFile } from "../src/review/proposal";
import type { Review } from "../src/review/review";
import { openAll, openFile, shownIn } from "../src/review/tabs";
import { proposalUri } from "../src/review/texts";
import { answers, TabInputText } from "./support/vscode";

const called: unknown[][] = [];
for (const name of ["vscode.open", "vscode.diff", "vscode.changes"]) answers[name] = (...given) => called.push([name, ...given.map(String)]);

const file = (path: string, oldText: string | null): ProposedFile => ({ path, change: { path, hunks: [] }, diff: { type: "diff", path, oldText, newText: "new\n" }, undecided: () => [] }) as unknown as ProposedFile;
const before = (path: string) => proposalUri(path, "before", "question:1");
const after = (path: string) => proposalUri(path, "after", "question:1");
const review = (...shown: ProposedFile[]): Review => ({ shown, sidesOf: (path: string) => ({ before: before(path), after: after(path) }) }) as unknown as Review;

test("a new file stands alone, any other beside what it was", async () => {
  const [made, changed] = [file("/made.py", null), file("/changed.py", "old\n")];
  await openFile(review(made), made, false, undefined);
  await openFile(review(changed), changed, false, undefined);
  assert.deepEqual(called.splice(0).map(([name, first]) => [name, first]), [
    ["vscode.open", String(after("/made.py"))],
    ["vscode.diff", String(before("/changed.py"))],
  ]);
  await openAll(review(made, changed));
  const [, , rows] = called.splice(0)[0] ?? [];
  assert.equal(rows, [after("/made.py"), "", after("/made.py"), after("/changed.py"), before("/changed.py"), after("/changed.py")].join(","));
});

test("the tab of a new file belongs to its question", () => {
  assert.equal(shownIn({ input: new TabInputText(after("/made.py") as never) } as never), "question:1");
  assert.equal(shownIn({ input: new TabInputText({ ...after("/made.py"), scheme: "file" } as never) } as never), undefined);
});
