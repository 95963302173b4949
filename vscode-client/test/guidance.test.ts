import assert from "node:assert/strict";
import { test } from "node:test";

import { guidanceOf } from "../src/chat/guidance";

test("rules, agents and tools are listed with where they come from, and why some are not used", () => {
  const rule = { name: "style", source: "north, project", path: ".north/rules/style.md", bucket: "always", why: "" };
  const off = { ...rule, name: "old\u202e", path: ".cursor/rules/old.mdc", why: "switched off" };
  const agent = { name: "explore", description: "Looks around", source: "North" };
  const [rules, agents, commands] = guidanceOf([rule, off], [agent, { ...agent, why: "another one comes first" }]);
  assert.deepEqual(rules?.[1].map(({ label, description, file }) => [label, description, file]), [
    ["style", "north, project · always", ".north/rules/style.md"],
    ["old<U+202E>", "north, project · always · not used: switched off", ".cursor/rules/old.mdc"],
  ]);
  assert.deepEqual(agents?.[1].map(({ label, description }) => [label, description]), [["explore", "North"], ["explore", "North · not used: another one comes first"]]);
  assert.deepEqual(commands?.[1].map(({ command }) => command), ["/mcp", "/skills", "/rules"]);
});
