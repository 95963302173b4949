/**
 * North's extension when its window is reloaded, its server is killed, or another window has the conversation: a turn
 * goes on, a question is asked again, and what happens elsewhere is shown live. Packed, with the real server.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";

import { makeBed } from "./bed.mjs";
import { Chat } from "./chat.mjs";
import { reloadWindow } from "./controls.mjs";
import { palette, screenshot, until } from "./workbench.mjs";

const bed = await makeBed("reload");
bed.useOfflineModel();
bed.env.NORTH_OFFLINE_DELAY_MS = "60";
const project = await bed.sampleProject();
const { chat, page, server } = await bed.start({ workspace: project });
const greeting = path.join(project, "hello/greeting.py");
const replacing = (word) => `replace "Hello" by "${word}" in hello/greeting.py`;
const length = async (shown = chat) => ((await shown.row("answer").last().textContent()) ?? "").length;
const banner = (shown) => shown.frame.locator("#elsewhere");

await bed.each({
  async "an answer that streams grows on after a reload, and the turn ends"() {
    await chat.send("explain greet");
    await until("some of the answer", async () => (await length()) > 20);
    await reloadWindow(page);
    await chat.row("user").filter({ hasText: "explain greet" }).waitFor();
    await until("what was shown before", async () => (await length()) > 20);
    await screenshot(page, "reload-1-streaming");
    await chat.idle();
    await banner(chat).waitFor({ state: "hidden" });
    const whole = await length();
    await chat.renew();
    await chat.ask("explain greet");
    assert.equal(whole, await length(), "the answer is not whole");
  },

  async "an edit that waits is asked about again after a reload, and accepted"() {
    await chat.renew();
    await chat.send(replacing("Good morning"));
    await chat.question("edit").waitFor();
    await reloadWindow(page);
    await chat.question("edit").waitFor();
    await screenshot(page, "reload-2-question");
    assert.ok(!(await readFile(greeting, "utf8")).includes("Good morning"));
    await chat.decide("edit", "Accept");
    await until("the edit", async () => (await readFile(greeting, "utf8")).includes("Good morning"));
    await chat.idle();
  },

  async "a command that waits is asked about again after a reload, and denied"() {
    await chat.renew();
    await chat.send("run rm -rf hello");
    await chat.question("command").waitFor();
    const asked = await chat.question("command").textContent();
    await reloadWindow(page);
    await chat.question("command").waitFor();
    assert.equal(await chat.question("command").textContent(), asked);
    await chat.decide("command", "Deny");
    await chat.idle();
    assert.ok((await readFile(greeting, "utf8")).length > 0);
  },

  async "another window follows the conversation live, and takes it over"() {
    await chat.renew();
    await chat.ask("list files");
    const second = await server.open();
    await palette(second, "North: Show Chat");
    const other = new Chat(second);
    await other.ready();
    await palette(second, "North: Show Conversations…");
    await second.locator(".quick-input-list .monaco-list-row", { hasText: "list files" }).first().click();
    await other.row("user").filter({ hasText: "list files" }).waitFor();
    await banner(other).filter({ hasText: "Open elsewhere" }).waitFor();
    await screenshot(second, "reload-3-elsewhere");
    await chat.send("explain greet");
    await until("the answer to grow there", async () => (await other.row("answer").count()) > 1 && (await length(other)) > 20);
    await chat.idle();
    await banner(other).getByRole("button", { name: "Take Over" }).click();
    await banner(other).waitFor({ state: "hidden" });
    await other.ask("find SALUTATION");
    await chat.row("user").filter({ hasText: "find SALUTATION" }).waitFor();
    await banner(chat).filter({ hasText: "Open elsewhere" }).waitFor();
    await second.close();
  },
});
