/**
 * Windows of VS Code: one that is not in front tells that North waits, a second one has a conversation of its own; and what
 * comes into a message from other parts of a window: a terminal, the file dialog, the Explorer. Packed, with the real server and
 * the offline model. With words of the names of its cases: only those.
 */
import assert from "node:assert/strict";
import path from "node:path";

import { makeBed } from "./bed.mjs";
import { Chat } from "./chat.mjs";
import { listInput, listRow, turnAway } from "./controls.mjs";
import { notification, palette, screenshot, until } from "./workbench.mjs";

const bed = await makeBed("windows");
bed.useOfflineModel();
const project = await bed.sampleProject();
const { chat, page, server } = await bed.start({
  workspace: project,
  settings: { "terminal.integrated.enablePersistentSessions": false },
  env: { NORTH_OFFLINE_DELAY_MS: "40" },
});
await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
const chip = (kind) => chat.frame.locator(`#chips .chip.${kind}`);

const cases = {
  async "a window that is not in front tells that North waits, and that it is done"() {
    await chat.send("explain greet");
    await chat.frame.locator("#stop").waitFor();
    await chat.send('replace "Hello" by "Good morning" in hello/greeting.py'); // asks while nobody looks
    const comeBack = await turnAway(page);
    const waits = notification(page, "North proposes to change hello/greeting.py.");
    await waits.waitFor();
    await screenshot(page, "windows-1-waits");
    await comeBack();
    await chat.decide("edit", "Reject");
    await waits.waitFor({ state: "detached" });
    await chat.idle();
    await chat.send("explain greet");
    await chat.frame.locator("#stop").waitFor();
    const comeBackAgain = await turnAway(page);
    await notification(page, "North is done").waitFor();
    await screenshot(page, "windows-2-done");
    await comeBackAgain();
    await palette(page, "Notifications: Clear All Notifications");
  },

  async "a window that is in front is not told"() {
    await chat.ask("list files");
    assert.equal(await notification(page, "North is done").count(), 0);
  },

  async "a second window has a conversation of its own"() {
    await chat.renew();
    await chat.ask("list files");
    const second = await server.open({ beside: page });
    await palette(second, "North: Show Chat");
    const other = new Chat(second);
    await other.ready();
    await other.renew();
    await other.send("explain greet");
    await other.frame.locator("#stop").waitFor();
    await other.idle();
    await chat.ask("find SALUTATION");
    await screenshot(second, "windows-3-second");
    assert.deepEqual(await chat.row("user").allTextContents(), ["list files", "find SALUTATION"]);
    assert.deepEqual(await other.row("user").allTextContents(), ["explain greet"]);
    // What one asks is asked in it alone.
    await other.send("run `touch asked-in-the-second.txt`");
    await other.question("command").waitFor();
    assert.equal(await chat.question("command").count(), 0);
    await other.decide("command", "Deny");
    await other.idle();
    await second.close();
    await chat.ask("list files");
  },

  async "what is selected in a terminal goes with a message"() {
    await palette(page, "Terminal: Create New Terminal");
    await page.locator(".terminal.xterm").first().waitFor();
    await page.locator(".terminal.xterm").first().click();
    await page.keyboard.type("echo a-word-of-the-$((40 + 2))nd-terminal\n");
    await palette(page, "Terminal: Select All");
    await chat.input.click();
    await chat.input.pressSequentially("what is @term");
    await chat.frame.locator("#offers [role=option]", { hasText: "@terminal" }).waitFor();
    await chat.input.press("Enter");
    await chip("terminal").waitFor();
    await screenshot(page, "windows-4-terminal");
    await chip("terminal").getByRole("button").click();
    await chat.input.fill("");
    await palette(page, "Terminal: Kill All Terminals").catch(() => undefined);
  },

  async "files are attached by VS Code's dialog"() {
    await chat.frame.locator("#attach").click();
    await listRow(page, "Files or Folders").click();
    await until("the dialog in the folder", async () => (await listInput(page).inputValue().catch(() => "")).startsWith(project));
    await screenshot(page, "windows-5-dialog");
    await listInput(page).fill(path.join(project, "hello/names.py"));
    await listRow(page, "names.py").first().waitFor();
    await page.keyboard.press("Enter");
    await chip("file").filter({ hasText: "hello/names.py" }).waitFor();
    await chip("file").getByRole("button", { name: "Remove hello/names.py" }).click();
  },

  async "a file is dragged from the Explorer into the chat"() {
    // The view of the Explorer beside the chat: the chat goes into a tab of its own.
    await palette(page, "North: New Chat in an Editor Tab");
    const row = page.locator(".explorer-folders-view .monaco-list-row", { hasText: "README.md" });
    await until("the Explorer", async () => {
      await palette(page, "View: Show Explorer"); // the new chat may take the focus from the palette
      return row.waitFor({ timeout: 5_000 }).then(() => true, () => false);
    });
    const tab = page.locator('iframe.webview.ready[src*="extensionId=north.north"]:not([src*="purpose=webviewView"])');
    const inTab = new Chat(page, tab.contentFrame().frameLocator("iframe#active-frame"));
    await inTab.ready();
    const from = await row.boundingBox();
    const to = await tab.boundingBox();
    await page.mouse.move(from.x + 40, from.y + from.height / 2);
    await page.mouse.down();
    await page.keyboard.down("Shift"); // or VS Code opens the file
    for (const part of [0.2, 0.5, 0.8, 1]) {
      await page.mouse.move(from.x + 40 + (to.x + to.width / 2 - from.x - 40) * part, from.y + (to.y + to.height / 2 - from.y) * part, { steps: 4 });
    }
    await screenshot(page, "windows-6-drag");
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await inTab.frame.locator("#chips .chip.file", { hasText: "README.md" }).waitFor();
    await screenshot(page, "windows-7-dropped");
  },
};

await bed.each(cases, { recover: () => page.keyboard.press("Escape") });
