/**
 * North for everybody: those who hear the page, need contrast, or use no mouse; on a long conversation, and in German.
 * What was measured is printed. With words of the names of cases: only those.
 */
import assert from "node:assert/strict";

import { contrastTable, frameOf } from "./audit.mjs";
import { fakeNorth, makeBed } from "./bed.mjs";
import { Chat } from "./chat.mjs";
import { germanPack } from "./language-pack.mjs";
import { machineSettings, packedExtension } from "./packed.mjs";
import { measured, shot } from "./people.mjs";
import { byKeyboard } from "./people-keyboard.mjs";
import { seenAndHeard } from "./people-scripted.mjs";
import { text } from "./updates.mjs";
import { palette, startServer } from "./workbench.mjs";

/** VS Code in German, for which the tests' editor has no language pack: see `language-pack.mjs`. */
function german() {
  let bed;
  const start = async (given) => (bed = given);
  const cases = {
    async "in German: the first page and a question"() {
      const userData = await machineSettings(bed.path("user-data"), { "north.server.path": fakeNorth });
      const extension = await germanPack(bed.folder, userData);
      const vsix = await packedExtension();
      const workspace = await bed.sampleProject();
      bed.server = await startServer({ vsix, extension, userData, workspace, locale: "de", env: { ...bed.env, FAKE_NORTH_ANSWER: "ok" } });
      const page = (bed.page = await bed.server.open());
      await page.locator('.statusbar-item[id*="north.status"]').waitFor();
      await palette(page, "North: Chat zeigen");
      const chat = new Chat(page);
      const inner = await frameOf(chat.frame);
      await chat.frame.locator("#welcome", { hasText: "Was kann North für Sie tun?" }).waitFor();
      assert.equal(await inner.evaluate(() => document.documentElement.lang), "de");
      assert.equal(await chat.input.getAttribute("aria-label"), "Nachricht an North");
      await shot(page, "german-first-page");
      const command = "npm test && rm -rf build";
      const toolCall = { toolCallId: "c", title: "Run it", kind: "execute", rawInput: { command }, content: text(`\`\`\`sh\n${command}\n\`\`\``) };
      const options = [{ optionId: "run", name: "Run", kind: "allow_once" }, { optionId: "deny", name: "Deny", kind: "reject_once" }];
      await chat.send(`ask ${JSON.stringify({ toolCall, options })}`);
      await chat.frame.locator("#waiting .asked").waitFor();
      await chat.frame.locator("#activity", { hasText: "wartet auf Sie" }).waitFor();
      assert.deepEqual(await chat.frame.locator("#waiting .buttons button").allTextContents(), ["Ausführen", "Bearbeiten…", "Ablehnen"]);
      await chat.frame.locator("#waiting").getByRole("button", { name: "Ausführen" }).and(chat.frame.locator(":enabled")).waitFor();
      const buttons = await Promise.all(["stop", "send"].map((id) => chat.frame.locator(`#${id}`).boundingBox()));
      assert.ok(Math.abs(buttons[0].y - buttons[1].y) < 4, "the buttons need a second line");
      await shot(page, "german-question");
      await chat.frame.locator("#waiting .buttons button").last().click();
      await chat.idle();
    },
  };
  return { start, cases };
}

const words = process.argv.slice(2);
for (const { start, cases, before } of [seenAndHeard(), byKeyboard(), german()]) {
  if (words.length > 0 && !Object.keys(cases).some((name) => words.some((word) => name.includes(word)))) continue;
  const bed = await makeBed("people");
  await start(bed);
  await bed.each(cases, { before });
}
console.log(`The least contrasts that were seen:\n${contrastTable(measured)}`);
