import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { texts } from "../scripts/texts.mjs";

const client = process.cwd();
const read = (name: string): Record<string, string> => JSON.parse(readFileSync(join(client, name), "utf8")) as Record<string, string>;
const said = texts(join(client, "src"));
const sorted = (names: Iterable<string>) => [...new Set(names)].sort();
const english = read("l10n/bundle.l10n.json");
const german = read("l10n/bundle.l10n.de.json");

test("every text of the source is a literal, so that it can be found for translators", () => {
  assert.deepEqual(said.others, []);
});

test("every text of the source is in the bundle, and nothing else (npm run l10n writes it)", () => {
  assert.deepEqual(sorted(Object.keys(english)), said.texts);
  for (const [key, text] of Object.entries(english)) assert.equal(text, key);
});

test("the German bundle has the same texts (npm run l10n names what it lacks)", () => {
  assert.deepEqual(sorted(Object.keys(german)), said.texts);
});

test("a translation has the same placeholders", () => {
  const placeholders = (text: string) => sorted(text.match(/\{\d+\}/g) ?? []);
  for (const [key, text] of Object.entries(german)) {
    assert.notEqual(text.trim(), "", key);
    assert.deepEqual(placeholders(text), placeholders(key), key);
  }
});

test("package.json's texts are complete in English and German", () => {
  const used = [...readFileSync(join(client, "package.json"), "utf8").matchAll(/"%([\w.]+)%"/g)].map((match) => match[1] ?? "");
  const [inEnglish, inGerman] = [read("package.nls.json"), read("package.nls.de.json")];
  assert.deepEqual(sorted(Object.keys(inEnglish)), sorted(used));
  assert.deepEqual(sorted(Object.keys(inGerman)), sorted(used));
  const commands = (text = "") => sorted(text.match(/\(command:[\w.]+\)/g) ?? []);
  for (const key of used) assert.deepEqual(commands(inGerman[key]), commands(inEnglish[key]), key);
});

test("package.json has no text of its own but names", () => {
  const names = new Set(["North"]);
  const found: string[] = [];
  const look = (value: unknown, key: string): void => {
    if (Array.isArray(value)) return value.forEach((item) => look(item, key));
    if (typeof value === "object" && value !== null) return Object.entries(value).forEach(([name, item]) => look(item, name));
    const shown = ["title", "name", "description", "markdownDescription", "markdownEnumDescriptions", "enumDescriptions", "fullName", "label", "category", "contents", "sampleRequest"];
    if (typeof value === "string" && shown.includes(key) && !/^%[\w.]+%$/.test(value) && !names.has(value)) found.push(`${key}: ${value}`);
  };
  const { contributes, description } = JSON.parse(readFileSync(join(client, "package.json"), "utf8")) as Record<string, unknown>;
  look(contributes, "");
  look(description, "description");
  assert.deepEqual(found, []);
});
