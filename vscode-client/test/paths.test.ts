import assert from "node:assert/strict";
import { test } from "node:test";

import { isInside } from "../src/common/paths";

test("a folder covers what lies in it, and nothing that only begins like it", () => {
  for (const path of ["/repo", "/repo/a.py", "/repo/a/b", "/repo/..a", "/other/x"]) assert.ok(isInside(path, ["/repo", "/other"]), path);
  for (const path of ["/repo-evil/a", "/", "/repo/../etc", "/etc/passwd"]) assert.ok(!isInside(path, ["/repo"]), path);
  assert.ok(!isInside("/repo/a", []));
});
