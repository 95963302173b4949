/** Bundles the extension (for Node) and the chat's page (for the browser) into `out`, with VS Code's icons for the page. */
import { copyFile, mkdir } from "node:fs/promises";

import { build } from "esbuild";

const shared = { bundle: true, minify: true, legalComments: "none", logLevel: "warning", outdir: "out" };

await Promise.all([
  build({
    ...shared,
    entryPoints: ["src/extension.ts"],
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode"],
    mainFields: ["module", "main"],
  }),
  build({
    ...shared,
    entryPoints: { chat: "src/webview/main.ts" },
    platform: "browser",
    format: "iife",
    target: "chrome120",
  }),
]);

await mkdir("out", { recursive: true });
for (const name of ["codicon.css", "codicon.ttf"]) {
  await copyFile(`node_modules/@vscode/codicons/dist/${name}`, `out/${name}`);
}
