import assert from "node:assert/strict";
import { test } from "node:test";

import { withLinks } from "../src/webview/addresses";

function told(text: string): string {
  return withLinks(text)
    .map((node) => (node.kind === "text" ? node.text : node.kind === "link" && "address" in node.target ? `[${node.target.address}]` : "?"))
    .join("");
}

test("addresses in a notice are links, and the rest is text", () => {
  assert.equal(told("to sign in, open https://a.example/in?b=c&d=e"), "to sign in, open [https://a.example/in?b=c&d=e]");
  assert.equal(told("HTTP://a.example/x, (https://b.example/y)."), "[HTTP://a.example/x], ([https://b.example/y]).");
  assert.equal(told("<img src=x> [a](javascript:x) file:///etc/passwd https://"), "<img src=x> [a](javascript:x) file:///etc/passwd https://");
  assert.equal(told(""), "");
});
