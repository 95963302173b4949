import assert from "node:assert/strict";
import { test } from "node:test";

import { fenced } from "../src/common/fences";

test("nothing in the code ends its block", () => {
  assert.equal(fenced("graph TD\n  a-->b", "mermaid"), "```mermaid\ngraph TD\n  a-->b\n```\n");
  assert.equal(fenced("a\n```\n````b", "mermaid"), "`````mermaid\na\n```\n````b\n`````\n");
});
