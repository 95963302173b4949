import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { inUsersLanguage } from "../src/review/optionNames";

test("every name that the server offers is translated", () => {
  const server = readFileSync("../north_lsp/acp/questions.py", "utf8");
  const names = [...server.matchAll(/^ {4}\("\w+", "([^"]+)", "(?:allow|reject)_\w+"\),$/gm)].map((match) => match[1] ?? "");
  assert.ok(names.length >= 9, `${names}`);
  const german = JSON.parse(readFileSync("l10n/bundle.l10n.de.json", "utf8")) as Record<string, string>;
  for (const name of names) {
    assert.ok(german[name] !== undefined && german[name] !== name, name);
    assert.equal(inUsersLanguage({ optionId: "x", name, kind: "allow_once" }).name, name);
  }
});

test("a name that is not known stays as it is", () => {
  const option = { optionId: "x", name: "Something else", kind: "reject_once" as const };
  assert.deepEqual(inUsersLanguage(option), option);
});
