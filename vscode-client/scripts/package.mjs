/** Packs north.vsix, with the addresses of the clone's public remote, if it has one, and says which. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { withHome, withPictures } from "./home.mjs";
import { checkout, python } from "./python.mjs";
import { contributed, withSettings } from "./settings.mjs";

/** Without the wheel. */
const LARGEST = 3 * 1024 * 1024;

const client = join(import.meta.dirname, "..");
const vsix = join(client, "north.vsix");
const contents = [
  ".vscodeignore",
  "package.json",
  "package.nls.json",
  "package.nls.de.json",
  "l10n",
  "README.md",
  "CHANGELOG.md",
  "LICENSE",
  "config.schema.json",
  "media",
  "out",
  "server",
];

const read = (name) => JSON.parse(readFileSync(join(client, name), "utf8"));

/** The server's settings are VS Code's, too; the manifest names where the project is at home. */
function completeManifest(stage) {
  const { section, english, german } = contributed(read("config.schema.json"), read("l10n/settings.de.json"));
  const write = (name, value) => writeFileSync(join(stage, name), `${JSON.stringify(value, null, 2)}\n`);
  write("package.json", withHome(withSettings(read("package.json"), section), home));
  write("package.nls.json", { ...read("package.nls.json"), ...english });
  write("package.nls.de.json", { ...read("package.nls.de.json"), ...german });
}

const home = JSON.parse(execFileSync(python(), [join(checkout, "hatch_build.py")], { encoding: "utf8" }));
console.log(
  home.Repository === undefined
    ? "No public remote `origin`: the extension names no repository, and its page has no pictures."
    : `Repository: ${home.Repository}; issues: ${home.Issues ?? "not known for this host"}`,
);

const stage = mkdtempSync(join(tmpdir(), "north-vsix-"));
try {
  for (const name of contents) {
    if (existsSync(join(client, name))) cpSync(join(client, name), join(stage, name), { recursive: true });
  }
  writeFileSync(join(stage, "README.md"), withPictures(readFileSync(join(client, "README.md"), "utf8"), home));
  completeManifest(stage);
  const options = ["--no-dependencies", "--allow-missing-repository", "--no-rewrite-relative-links", "--out", vsix];
  execFileSync(join(client, "node_modules/.bin/vsce"), ["package", ...options], { cwd: stage, stdio: "inherit" });
} finally {
  rmSync(stage, { recursive: true, force: true });
}

const about = join(client, "server/server.json");
const wheel = existsSync(about) ? statSync(join(client, "server", JSON.parse(readFileSync(about, "utf8")).wheel)).size : 0;
const rest = statSync(vsix).size - wheel;
const mb = (bytes) => (bytes / 1024 / 1024).toFixed(2);
console.log(`${mb(rest)} MB, and ${mb(wheel)} MB of wheel`);
if (rest > LARGEST) throw new Error(`north.vsix has ${mb(rest)} MB without the wheel, more than ${mb(LARGEST)} MB.`);
