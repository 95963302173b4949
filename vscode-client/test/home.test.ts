import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { withHome, withPictures } from "../scripts/home.mjs";

const GITHUB = { Homepage: "https://github.com/o/r", Repository: "https://github.com/o/r", Issues: "https://github.com/o/r/issues" };
const readme = readFileSync("README.md", "utf8");

test("the manifest names the home that packing found", () => {
  assert.deepEqual(withHome({ name: "north" }, GITHUB), {
    name: "north",
    homepage: "https://github.com/o/r",
    repository: { type: "git", url: "https://github.com/o/r.git", directory: "vscode-client" },
    bugs: { url: "https://github.com/o/r/issues" },
  });
});

test("without a home nothing is made up", () => {
  assert.deepEqual(withHome({ name: "north" }, {}), { name: "north" });
  assert.doesNotMatch(withPictures(readme, {}), /!\[/);
  const other = { Homepage: "https://git.acme.org/r", Repository: "https://git.acme.org/r" };
  assert.equal("bugs" in withHome({}, other), false);
  assert.doesNotMatch(withPictures(readme, other), /!\[/);
});

test("the page's pictures are loaded from the home", () => {
  const shown = [...withPictures(readme, GITHUB).matchAll(/!\[[^\]]+\]\((.+?)\)/g)].map(([, address]) => address);
  assert.ok(shown.length >= 4);
  for (const address of shown) assert.match(address ?? "", /^https:\/\/github\.com\/o\/r\/raw\/HEAD\/vscode-client\/images\/\w+\.png$/);
  const gitlab = { Homepage: "https://gitlab.com/o/r", Repository: "https://gitlab.com/o/r" };
  assert.match(withPictures(readme, gitlab), /\(https:\/\/gitlab\.com\/o\/r\/-\/raw\/HEAD\/vscode-client\/images\/diff\.png\)/);
});
