import { div } from "./support/page";
import "./support/focus";

import assert from "node:assert/strict";
import { test } from "node:test";

import { button } from "../src/webview/elements";
import { handOver, redraw, setHidden } from "../src/webview/focus";

const input = document.createElement("textarea");
input.id = "input";
const place = div();
document.body.append(place, input);
const named = (name: string) => button(name, "", () => {});

test("what is drawn anew has the focus again, where it is called the same", () => {
  place.replaceChildren(named("Show"), named("Undo"));
  place.querySelectorAll("button")[1]?.focus();
  redraw(place, () => place.replaceChildren(named("Undo"), named("Redo")), () => assert.fail());
  assert.equal(document.activeElement?.textContent, "Undo");
  redraw(place, () => place.replaceChildren(named("Redo")), () => place.querySelector("button")?.focus());
  assert.equal(document.activeElement?.textContent, "Redo");
});

test("what is folded away has no focus", () => {
  const details = div();
  details.append(named("Copy"));
  place.replaceChildren(details);
  details.querySelector("button")?.focus();
  let told = false;
  redraw(place, () => (details.hidden = true), () => (told = true));
  assert.ok(told);
});

test("a focus elsewhere stays where it is", () => {
  place.replaceChildren(named("Undo"));
  input.focus();
  redraw(place, () => place.replaceChildren(), () => assert.fail());
  setHidden(place, true);
  assert.equal(document.activeElement, input);
  setHidden(place, false);
});

test("what is hidden while it has the focus gives it to the input", () => {
  place.replaceChildren(named("Stop"));
  place.querySelector("button")?.focus();
  setHidden(place, true);
  assert.equal(document.activeElement, input);
  setHidden(place, false);
});

test("no button of the next question gets the focus of the one before, called the same or not", () => {
  place.replaceChildren(named("Run"));
  place.querySelector("button")?.focus();
  handOver(place, () => place.replaceChildren(named("Run")), () => input.focus());
  assert.equal(document.activeElement, input);
});
