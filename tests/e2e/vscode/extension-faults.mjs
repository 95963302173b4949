/** North's extension where something is wrong: no server, a server that is too old, an answer that means harm. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { packedExtension, userDataFor } from "./packed.mjs";
import { palette, screenshot, startServer, until, webview } from "./workbench.mjs";

const fake = fileURLToPath(new URL("fake-north-lsp", import.meta.url));

const harm = [
  "**bold** <b id=raw>raw</b> <script>document.title = 'harmed'</script>",
  "![picture](https://example.com/picture.png) [a](javascript:alert(1)) [b](command:workbench.action.quit)",
  "[to example](https://example.com/some/page?with=query)",
].join("\n\n");

const cases = {
  async missing({ chat }) {
    await chat.locator("#problem", { hasText: "names no program: /nowhere/north-lsp" }).waitFor();
    const names = await chat.locator("#problem button").allTextContents();
    assert.deepEqual(names, ["Open setting", "Show log", "Try again"]);
    await chat.locator("#input").fill("hello");
    await chat.locator("#input").press("Enter");
    await until("the message to stay", async () => (await chat.locator("#input").inputValue()) === "hello");
  },

  async nopython({ chat }) {
    await chat.locator("#problem", { hasText: "could not be started" }).waitFor();
    await chat.locator("#problem", { hasText: "Python" }).waitFor();
  },

  async old({ chat }) {
    await chat.locator("#problem", { hasText: "(fake 0.0.7) cannot chat with this extension" }).waitFor();
  },

  async harm({ chat, page, requests }) {
    await chat.locator("#input").fill("hello");
    await chat.locator("#input").press("Enter");
    const answer = chat.locator(".row.answer");
    await answer.locator("strong", { hasText: "bold" }).waitFor();
    const link = answer.locator("a", { hasText: "to example" });
    await link.waitFor();
    assert.equal(await answer.locator("img, script, #raw, [href], [onclick], [style]").count(), 0);
    assert.equal(await answer.locator("[data-address]").count(), 2); // the picture's address, and the link
    await link.click();
    const dialog = page.locator(".monaco-dialog-box", { hasText: "https://example.com/some/page?with=query" });
    await dialog.waitFor();
    await screenshot(page, "extension-link");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.deepEqual(requests.filter((address) => address.includes("example.com")), []);
  },
};

/** As pip leaves it when the Python of its environment is gone. */
const orphan = path.join(await mkdtemp(path.join(tmpdir(), "north-e2e-orphan-")), "north-lsp");
await writeFile(orphan, "#!/nowhere/bin/python3\nprint('hello')\n", { mode: 0o755 });
const programs = { missing: "/nowhere/north-lsp", nopython: orphan };

const vsix = await packedExtension();
for (const [name, check] of Object.entries(cases)) {
  const folder = await mkdtemp(path.join(tmpdir(), "north-e2e-faults-"));
  const env = name === "harm" ? { FAKE_NORTH_ANSWER: harm } : {};
  const userData = await userDataFor(path.join(folder, "user-data"), programs[name] ?? fake);
  let server;
  let page;
  try {
    server = await startServer({ vsix, userData, env });
    page = await server.open();
    const requests = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.locator('.statusbar-item[id*="north.status"]').waitFor();
    await palette(page, "North: Show Chat");
    await check({ chat: webview(page, "north.north"), page, requests });
    await screenshot(page, `extension-fault-${name}`);
    console.log(`${name}: ok`);
  } catch (error) {
    const picture = page && (await screenshot(page, `extension-fault-${name}-failed`));
    console.error(`${await server?.logs(/North/)}\n${name} FAILED: ${error.stack}\nscreenshot: ${picture}`);
    process.exitCode = 1;
  } finally {
    await server?.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}
await rm(path.dirname(orphan), { recursive: true });
