import assert from "node:assert/strict";
import { test } from "node:test";
import type { Uri, WebviewPanel } from "vscode";

import { Tab } from "../src/chat/tab";
import { Uri as address, window } from "./support/vscode";

test("a tab would cover what the user is at only in the same group, and if it is not in front already", () => {
  const tab = new Tab(address.parse("file:///north") as unknown as Uri, () => undefined);
  const at = (viewColumn: number, activeTab?: object) => Object.assign(window.tabGroups, { activeTabGroup: { viewColumn, activeTab } });
  at(1);
  assert.equal(tab.wouldCover, false); // nothing is open
  at(1, {});
  assert.equal(tab.wouldCover, true); // it was closed, and would be made here
  const shown = { visible: false, viewColumn: 1, webview: {}, onDidDispose: () => undefined };
  tab.show(shown as unknown as WebviewPanel);
  assert.equal(tab.wouldCover, true);
  at(2, {});
  assert.equal(tab.wouldCover, false);
  at(1, {});
  shown.visible = true;
  assert.equal(tab.wouldCover, false);
});
