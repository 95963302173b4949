import assert from "node:assert/strict";
import { test } from "node:test";

import { fileAddress } from "../src/composer/fileAddress";

test("what is dragged in a remote window is a file to what runs there", () => {
  assert.equal(fileAddress("vscode-remote://wsl%2Bdebian/repo/a%20b.py", true), "file:///repo/a%20b.py");
  assert.equal(fileAddress("vscode-remote://127.0.0.1:8080/repo/a.py", true), "file:///repo/a.py");
  assert.equal(fileAddress("file:///repo/a.py", true), "file:///repo/a.py");
});

test("other addresses stay what they are", () => {
  assert.equal(fileAddress("vscode-remote://ssh-remote%2Bhost/repo/a.py", false), "vscode-remote://ssh-remote%2Bhost/repo/a.py");
  for (const address of ["https://example.com/vscode-remote://x/a", "vscode-remote:///repo/a.py", "untitled:a"]) assert.equal(fileAddress(address, true), address);
});
