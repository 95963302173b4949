import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { hasSecondSideBar, viewOf, VIEWS } from "../src/chat/location";

interface Manifest {
  contributes: {
    views: Record<string, { id: string; when?: string }[]>;
    viewsContainers: Record<string, { id: string }[]>;
    menus: Record<string, { when?: string }[]>;
  };
}

const { contributes }: Manifest = JSON.parse(readFileSync("package.json", "utf8"));

test("the chat is in the second side bar where the user wants that and VS Code has it", () => {
  assert.equal(viewOf("sideBar", "1.120.0"), VIEWS.sideBar);
  assert.equal(viewOf("secondarySideBar", "1.120.0"), VIEWS.secondarySideBar);
  assert.equal(viewOf("secondarySideBar", "1.105.9"), VIEWS.sideBar);
  assert.equal(viewOf(undefined, "1.120.0"), VIEWS.sideBar);
  assert.equal(hasSecondSideBar("2.0.0"), true);
  assert.equal(hasSecondSideBar("1.106.0-insider"), true);
});

test("one of the two views is shown, never both", () => {
  const [{ id: container } = { id: "" }] = contributes.viewsContainers.secondarySidebar ?? [];
  const beside = contributes.views[container]?.find(({ id }) => id === VIEWS.secondarySideBar);
  const usual = contributes.views.north?.find(({ id }) => id === VIEWS.sideBar);
  const wanted = ["config.north.chatLocation == secondarySideBar", "north.hasSecondSideBar"];
  assert.equal(beside?.when, wanted.join(" && "));
  assert.equal(usual?.when, "config.north.chatLocation != secondarySideBar || !north.hasSecondSideBar");
});

test("the buttons of the chat are there wherever it is", () => {
  const titles = (contributes.menus["view/title"] ?? []).filter(({ when = "" }) => when.includes("chat"));
  assert.ok(titles.length > 5);
  for (const { when = "" } of titles) {
    const pattern = /view =~ \/(.*)\/$/.exec(when)?.[1] ?? "";
    for (const view of Object.values(VIEWS)) assert.match(view, new RegExp(pattern), when);
  }
});
