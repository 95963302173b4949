import assert from "node:assert/strict";
import { test } from "node:test";

import { listFiles } from "../src/review/summary";

const name = (path: string): string => path.replace("/p/", "");

test("several files are listed with what they add and remove", () => {
  const told = new Map([
    ["/p/a.py", { path: "/p/a.py", hunks: [] }],
    ["/p/b.png", { path: "/p/b.png", hunks: [] }],
  ]);
  assert.equal(listFiles([{ type: "diff", path: "/p/a.py", oldText: "1\n2\n", newText: "1\n3\n4\n" }], told, name), "- `a.py` +2 −1\n- `b.png`");
});

test("one file is named by the question", () => {
  assert.equal(listFiles([{ type: "diff", path: "/p/a.py", newText: "" }], new Map(), name), "");
});

test("a name is no Markdown", () => {
  const odd = { type: "diff", path: "/p/``x`](http://y)\n# z", newText: "" } as const;
  const [first] = listFiles([odd, { ...odd, path: "/p/b" }], new Map(), name).split("\n");
  assert.equal(first, "- ``` ``x`](http://y) # z ``` +0 −0");
});
