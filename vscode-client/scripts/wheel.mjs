/**
 * Builds the server's wheel from the checkout into `server`, for the extension to install, unless it is up to date.
 * Needs a Python with pip, which gets the build backend from the user's index.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { checkout, python } from "./python.mjs";

const client = join(import.meta.dirname, "..");
const out = join(client, "server");
const about = join(out, "server.json");

function youngest(path) {
  const { mtimeMs } = statSync(path);
  if (!statSync(path).isDirectory()) return mtimeMs;
  const names = readdirSync(path).filter((name) => name !== "__pycache__");
  return Math.max(mtimeMs, ...names.map((name) => youngest(join(path, name))));
}

const sources = ["north_lsp", "docs", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE"].map((name) => join(checkout, name));
if (!existsSync(about) || statSync(about).mtimeMs < Math.max(...sources.map(youngest))) {
  const folder = mkdtempSync(join(tmpdir(), "north-wheel-"));
  try {
    // The same sources make the same file: its hash tells whether there is something new to install.
    const env = { ...process.env, SOURCE_DATE_EPOCH: process.env.SOURCE_DATE_EPOCH ?? "1580601600" };
    const options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--wheel-dir", folder];
    execFileSync(python(), ["-m", "pip", "wheel", ...options, checkout], { stdio: ["ignore", "inherit", "inherit"], env });
    const [wheel] = readdirSync(folder).filter((name) => name.endsWith(".whl"));
    const [, version] = wheel.split("-");
    const content = readFileSync(join(folder, wheel));
    const sha256 = createHash("sha256").update(content).digest("hex");
    rmSync(out, { recursive: true, force: true });
    mkdirSync(out);
    writeFileSync(join(out, wheel), content);
    writeFileSync(`${about}.new`, `${JSON.stringify({ wheel, version, sha256 }, null, 2)}\n`);
    renameSync(`${about}.new`, about);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
