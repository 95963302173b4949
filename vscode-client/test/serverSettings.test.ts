import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { contributed, TAG, withSettings } from "../scripts/settings.mjs";
import { serverKeys, serverSettings } from "../src/common/serverSettings";
import { settings } from "./support/vscode";

const read = (name: string) => JSON.parse(readFileSync(name, "utf8"));
const schema = read("config.schema.json") as { definitions: Record<string, { description: string; default?: unknown }> };
const translations = read("l10n/settings.de.json") as Record<string, string>;
const { section, english, german } = contributed(schema, translations);
const names = Object.keys(section.properties);

test("every setting of the server that a user may set in an editor can be set in VS Code, and no folder can", () => {
  const left = Object.keys(schema.definitions).filter((key) => !names.includes(`north.${key}`));
  assert.deepEqual(left.sort(), ["auth.broker.token", "selectedModel"]);
  for (const [name, { scope, tags }] of Object.entries(section.properties)) assert.deepEqual([scope, tags], ["application", [TAG]], name);
  assert.equal(section.properties["north.turn.maxRequests"]?.default, schema.definitions["turn.maxRequests"]?.default);
});

test("none of them has the name of a setting of the extension", () => {
  const own = Object.keys(read("package.json").contributes.configuration.properties);
  assert.deepEqual(own.filter((name) => names.includes(name)), []);
});

test("their texts are complete in English and in German (l10n/settings.de.json has those)", () => {
  const wanted = [...names.map((name) => name.replace("north.", "settings.")), "settings.title"].sort();
  assert.deepEqual(Object.keys(english).sort(), wanted);
  assert.deepEqual(Object.keys(german).sort(), wanted);
  assert.deepEqual(Object.keys(translations).filter((key) => !names.includes(`north.${key}`)), []);
});

test("the extension finds them in its manifest, and sends what the user has set", () => {
  const manifest = withSettings(read("package.json"), section);
  const keys = serverKeys(manifest);
  assert.deepEqual(keys.map((key) => `north.${key}`), names);
  assert.deepEqual(serverKeys(read("package.json")), []);
  assert.deepEqual(serverKeys(undefined), []);
  settings["north.sandbox"] = "workspace";
  settings["north.turn.maxRequests"] = 0;
  assert.deepEqual(serverSettings(keys), { sandbox: "workspace", "turn.maxRequests": 0 });
});
