import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { said } from "./support/page";
import type { Chip, ComposerState } from "../src/messages";
import type { Offer } from "../src/webview/completion";

document.body.innerHTML = '<ul id="chips"></ul><ul id="offers"></ul><div id="writing"></div>';
const { showChips } = await import("../src/webview/chips");
const { hideOffers, showOffers } = await import("../src/webview/offers");
const chips = document.querySelector("#chips") as HTMLElement;
const offers = document.querySelector("#offers") as HTMLElement;
const writing = document.querySelector("#writing") as HTMLElement;

const chip = (id: string, label: string): Chip => ({ id, kind: "file", label, title: `The file ${label}` });
const show = (state: Partial<ComposerState>) => showChips({ chips: [], suggested: [], commands: [], ...state }, () => {});
const names = () => [...chips.querySelectorAll("button")].map((button) => button.getAttribute("aria-label"));

beforeEach(() => said.splice(0));

test("each chip says what it is and can be removed", () => {
  show({ chips: [chip("1", "a.py"), chip("2", "b.py")] });
  assert.equal(chips.hidden, false);
  assert.deepEqual(names(), ["Remove a.py", "Remove b.py"]);
  assert.equal(chips.children[1]?.getAttribute("title"), "The file b.py");
  chips.querySelectorAll("button")[1]?.click();
  assert.deepEqual(said, [{ type: "detach", id: "2" }]);
  show({});
  assert.equal(chips.hidden, true);
});

test("the selection and the file in the editor are only offered", () => {
  const selection = { id: "selection" as const, kind: "selection" as const, label: "open.py:2-3", title: "open.py:2-3" };
  const file = { id: "file" as const, kind: "file" as const, label: "open.py", title: "open.py" };
  show({ suggested: [selection, file], chips: [chip("1", "a.py")] });
  assert.deepEqual(names(), ["Attach open.py:2-3", "Attach open.py", "Remove a.py"]);
  assert.ok(chips.children[0]?.classList.contains("suggested"));
  for (const index of [0, 1]) chips.querySelectorAll("button")[index]?.click();
  assert.deepEqual(said, [{ type: "attachSource", source: "selection" }, { type: "attachSource", source: "file" }]);
  show({ suggested: [file] });
  assert.deepEqual(names(), ["Attach open.py"]);
});

test("a name is a text, whatever it holds", () => {
  show({ chips: [chip("1", "<img src=x onerror=alert(1)>")] });
  assert.equal(chips.querySelector("img"), null);
  assert.match(chips.textContent ?? "", /<img src=x/);
});

test("the input says which offer is chosen", () => {
  const found: Offer[] = [
    { kind: "command", name: "help", detail: "Lists the commands" },
    { kind: "file", name: "src/a.py", detail: "src" },
    { kind: "folder", name: "src/deep/", detail: "src" },
  ];
  const chosen: number[] = [];
  Object.getPrototypeOf(offers).scrollIntoView = () => {};
  showOffers(writing, found, 1, (index) => chosen.push(index));
  assert.deepEqual([...offers.children].map((one) => one.querySelector(".name")?.textContent), ["/help", "a.py", "deep/"]);
  assert.deepEqual([...offers.children].map((one) => one.getAttribute("aria-selected")), ["false", "true", "false"]);
  assert.equal(writing.getAttribute("aria-activedescendant"), offers.children[1]?.id);
  assert.equal(writing.getAttribute("aria-expanded"), "true");
  offers.children[2]?.dispatchEvent(new (document.defaultView as unknown as { Event: typeof Event }).Event("mousedown", { cancelable: true }));
  assert.deepEqual(chosen, [2]);
  hideOffers(writing);
  assert.equal(writing.getAttribute("aria-expanded"), "false");
  assert.equal(writing.hasAttribute("aria-activedescendant"), false);
});
