/**
 * Proves that the VS Code test bed works, with a throw-away extension made on the spot:
 * palette, notification, diff editor, webview, screenshot; once unpacked, once as a vsix.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { diffEditorLines, notification, palette, screenshot, startServer, until, webview } from "./workbench.mjs";

const manifest = {
  name: "bed-smoke",
  publisher: "north-e2e",
  version: "0.0.1",
  engines: { vscode: "^1.90.0" },
  main: "./extension.js",
  contributes: {
    commands: [
      { command: "bedSmoke.greet", title: "Greet", category: "Bed Smoke" },
      { command: "bedSmoke.diff", title: "Show Diff", category: "Bed Smoke" },
    ],
    viewsContainers: { activitybar: [{ id: "bedSmoke", title: "Bed Smoke", icon: "icon.svg" }] },
    views: { bedSmoke: [{ id: "bedSmoke.view", name: "Hello", type: "webview" }] },
  },
};

const source = `
const vscode = require("vscode");
const documents = { "/before.txt": "one\\ntwo\\nthree\\n", "/after.txt": "one\\nTWO\\nthree\\nfour\\n" };
const uri = (name) => vscode.Uri.from({ scheme: "bed-smoke", path: name });
exports.activate = (context) => context.subscriptions.push(
  vscode.workspace.registerTextDocumentContentProvider("bed-smoke", {
    provideTextDocumentContent: ({ path }) => documents[path],
  }),
  vscode.commands.registerCommand("bedSmoke.greet", () =>
    vscode.window.showInformationMessage("Good morning " + process.env.BED_SMOKE)),
  vscode.commands.registerCommand("bedSmoke.diff", () =>
    vscode.commands.executeCommand("vscode.diff", uri("/before.txt"), uri("/after.txt"), "Before ↔ After")),
  vscode.window.registerWebviewViewProvider("bedSmoke.view", {
    resolveWebviewView({ webview }) {
      webview.options = { enableScripts: true };
      webview.html = "<h1 id=greeting></h1><script>document.getElementById('greeting').textContent = 'hello'</script>";
    },
  }),
);
`;

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path d="M12 2 22 22 2 22Z"/></svg>`;

const vsixManifest = `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${manifest.name}" Version="${manifest.version}" Publisher="${manifest.publisher}"/>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Assets><Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json"/></Assets>
</PackageManifest>`;

const contentTypes = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension="json" ContentType="application/json"/><Default Extension="vsixmanifest" ContentType="text/xml"/>
</Types>`;

async function makeExtension(folder) {
  const extension = path.join(folder, "extension");
  await mkdir(extension);
  await writeFile(path.join(extension, "package.json"), JSON.stringify(manifest));
  await writeFile(path.join(extension, "extension.js"), source);
  await writeFile(path.join(extension, "icon.svg"), icon);
  await writeFile(path.join(folder, "extension.vsixmanifest"), vsixManifest);
  await writeFile(path.join(folder, "[Content_Types].xml"), contentTypes);
  const parts = ["extension", "extension.vsixmanifest", "[Content_Types].xml"];
  execFileSync("python3", ["-m", "zipfile", "-c", "smoke.vsix", ...parts], { cwd: folder });
  return { unpacked: { extension }, packed: { vsix: path.join(folder, "smoke.vsix"), install: true } };
}

async function prove(name, extension) {
  const started = performance.now();
  const log = (what) => console.log(`${name}: ${what} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  const environment = { BED_SMOKE: "Vietnam" };
  const server = await startServer({ ...extension, env: environment, settings: { "editor.fontSize": 15 } });
  let page;
  try {
    log("server ready");
    page = await server.open();
    log("workbench ready");

    await palette(page, "Bed Smoke: Greet");
    await notification(page, "Good morning Vietnam").waitFor();
    log("palette and notification");

    await palette(page, "Bed Smoke: Show Diff");
    const lines = await until("the diff editor's lines", async () => {
      const { original, modified } = await diffEditorLines(page);
      return modified.includes("four") && { original, modified };
    });
    assert.deepEqual(lines, { original: ["one", "two", "three", ""], modified: ["one", "TWO", "three", "four", ""] });
    log("diff editor");

    await page.locator('.activitybar [aria-label="Bed Smoke"]').first().click();
    await webview(page, "north-e2e.bed-smoke").locator("#greeting", { hasText: /^hello$/ }).waitFor();
    log(`webview; ${await screenshot(page, `smoke-${name}`)}`);
  } catch (error) {
    const picture = page && (await screenshot(page, `smoke-${name}-failed`));
    const logs = `${server.output()}\n${await server.logs(/remoteexthost/)}`;
    console.error(`${logs}\n${name} FAILED: ${error.message}\nscreenshot: ${picture}`);
    process.exitCode = 1;
  } finally {
    await server.stop();
    log("stopped");
  }
}

const folder = await mkdtemp(path.join(tmpdir(), "north-e2e-smoke-"));
try {
  for (const [name, extension] of Object.entries(await makeExtension(folder))) await prove(name, extension);
} finally {
  await rm(folder, { recursive: true });
}
