/** Unit tests of what needs no editor: every test/*.test.ts, bundled by esbuild, run by node's own test runner.
 * `npm test -- lines` runs the files whose names contain "lines". */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import { build } from "esbuild";

const here = import.meta.dirname;
const wanted = process.argv[2] ?? "";
const names = readdirSync(here).filter((name) => name.endsWith(".test.ts") && name.includes(wanted));
// Inside the package, so that what is not bundled is found in its node_modules.
const out = mkdtempSync(join(here, "..", "node_modules", ".test-"));
try {
  await build({
    entryPoints: names.map((name) => join(here, name)),
    outdir: out,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20",
    sourcemap: "inline",
    logLevel: "warning",
    logOverride: { "import-is-undefined": "silent" }, // parts of the editor that no test calls
    // The editor's own module does not exist outside of it: a test that needs a part of it brings that part.
    alias: { vscode: join(here, "support", "vscode.ts") },
  });
  const files = names.map((name) => join(out, name.replace(/\.ts$/, ".mjs")));
  const run = spawnSync(process.execPath, ["--enable-source-maps", "--test-reporter=spec", "--test", ...files], { stdio: "inherit" });
  process.exitCode = run.status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
