import assert from "node:assert/strict";
import { test } from "node:test";

import { Following } from "../src/webview/following";

/** A conversation of 1,000 pixels of which 200 are in view, looked at at its end. */
function atEnd(): Following {
  const following = new Following();
  following.note({ top: 800, height: 1000, view: 200 });
  return following;
}

test("the user scrolls up, and comes back", () => {
  const following = atEnd();
  assert.equal(following.scrolled({ top: 500, height: 1000, view: 200 }), false);
  assert.equal(following.isOn, false);
  assert.equal(following.scrolled({ top: 790, height: 1000, view: 200 }), true); // the rest of the way
  assert.equal(following.isOn, true);
});

test("a little way up is still the end", () => {
  const following = atEnd();
  assert.equal(following.scrolled({ top: 780, height: 1000, view: 200 }), false);
  assert.equal(following.isOn, true);
});

test("more room while more comes is no scrolling of the user's: the end is gone to", () => {
  const following = atEnd();
  assert.equal(following.scrolled({ top: 500, height: 1100, view: 500 }), true); // a question is gone, an answer came
  assert.equal(following.isOn, true);
});

test("less text is none either", () => {
  const following = atEnd();
  assert.equal(following.scrolled({ top: 700, height: 900, view: 200 }), false);
  assert.equal(following.isOn, true);
});

test("who has scrolled up is left there, whatever becomes higher or lower", () => {
  const following = atEnd();
  following.scrolled({ top: 300, height: 1000, view: 200 });
  assert.equal(following.scrolled({ top: 250, height: 900, view: 300 }), false);
  assert.equal(following.isOn, false);
});
