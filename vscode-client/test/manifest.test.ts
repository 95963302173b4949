import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

type Manifest = Record<string, unknown> & { keywords: string[]; categories: string[]; icon: string; version: string };

const manifest: Manifest = JSON.parse(readFileSync("package.json", "utf8"));
/** Those that the Marketplace knows, as far as they could be North's. */
const CATEGORIES = ["AI", "Chat", "Machine Learning", "Programming Languages", "Testing", "Other"];

test("the Marketplace takes the extension", () => {
  assert.equal(manifest.private, undefined, "vsce does not publish what is private");
  for (const name of ["name", "displayName", "description", "publisher", "license", "engines", "galleryBanner", "pricing"]) assert.ok(manifest[name], name);
  assert.match(manifest.version, /^\d+\.\d+\.\d+$/);
  for (const category of manifest.categories) assert.ok(CATEGORIES.includes(category), category);
  assert.ok(manifest.keywords.length <= 30);
  assert.match(manifest.icon, /\.png$/);
  for (const name of [manifest.icon, "README.md", "CHANGELOG.md", "LICENSE"]) assert.ok(existsSync(name), name);
});

test("a step of the walkthrough is done once it is: not when a dialog was opened that can be closed again", () => {
  const contributes = manifest.contributes as { walkthroughs: { steps: { id: string; completionEvents: string[] }[] }[] };
  const steps = new Map(contributes.walkthroughs[0]?.steps.map(({ id, completionEvents }) => [id, completionEvents]));
  assert.deepEqual(steps.get("install"), ["onContext:north.serverInstalled"]);
  assert.deepEqual(steps.get("key"), ["onContext:north.hasModel", "onContext:north.hasKey"]);
  assert.deepEqual(steps.get("trust"), ["onContext:isWorkspaceTrusted"]);
});
