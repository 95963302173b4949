/** A chat and its workbench by keyboard alone: where the focus is, and the keys that lead elsewhere. */
import { until } from "./workbench.mjs";

export class Keyboard {
  constructor(page, chat) {
    this.page = page;
    this.chat = chat;
  }

  press(...keys) {
    return keys.reduce((before, key) => before.then(() => this.page.keyboard.press(key)), Promise.resolve());
  }

  type(text) {
    return this.page.keyboard.type(text);
  }

  /** Where the focus is: in the chat's page (`inChat`), there in the conversation (`inRows`) or at a row of it (`isRow`), what it is called. */
  async at() {
    const inChat = await this.chat.frame.locator("body").evaluate(() => {
      const one = document.activeElement;
      if (!document.hasFocus() || one === null) return undefined;
      const name = one.getAttribute("aria-label") ?? one.textContent?.trim().slice(0, 60) ?? "";
      return { inChat: true, id: one.id, tag: one.tagName, name, inRows: one.closest("#rows") !== null, isRow: one.matches("#rows .row, .group-head"), inQuestion: one.closest("#waiting") !== null };
    });
    if (inChat !== undefined) return inChat;
    return this.page.evaluate(() => {
      const one = document.activeElement;
      const name = one?.getAttribute("aria-label") ?? one?.textContent?.trim().slice(0, 60) ?? "";
      return { inChat: false, id: one?.id ?? "", tag: one?.tagName ?? "", name, inRows: false, inQuestion: false, inDiff: one?.closest(".monaco-diff-editor") != null };
    });
  }

  /** Press Tab until the focus is where it is wanted; answers what it came by, and fails after `most` times. */
  async walkTo(isThere, { back = false, most = 30 } = {}) {
    const trail = [];
    for (;;) {
      const before = await this.at();
      if (isThere(before)) return trail;
      if (trail.length >= most) throw new Error(`Tab did not lead there in ${most} steps: ${trail.join(" → ")}`);
      await this.page.keyboard.press(back ? "Shift+Tab" : "Tab");
      const after = await this.at();
      trail.push(`${after.tag} ${after.id} ${after.name}`.replace(/\s+/g, " "));
    }
  }

  /** A control by the beginning of its name. */
  walkToNamed(name, options) {
    return this.walkTo((one) => one.name.startsWith(name), options);
  }

  /** A command from the palette. */
  async command(title) {
    const input = this.page.locator(".quick-input-widget input.input");
    await until("the palette to have the focus", async () => {
      await this.press("F1"); // again, if the key came while a list was closing
      if (!(await input.waitFor({ timeout: 2_000 }).then(() => true, () => false))) return false;
      return input.evaluate((one) => one === document.activeElement);
    });
    await this.type(title);
    const entry = this.page.locator(".quick-input-list .monaco-list-row.focused .label-name", { hasText: title });
    await until(`"${title}" in the palette`, async () => {
      if ((await entry.count()) > 0) return true;
      await this.press("ArrowDown");
      return false;
    });
    await this.press("Enter");
    await entry.waitFor({ state: "hidden" });
  }

  /**
   * Type characters as they come with AltGr on Polish, German and many other keyboards: the key is the character. (Where
   * AltGr is Ctrl+Alt, on Windows, no key of North's has these two: the unit test of the keybindings holds that.)
   */
  async altGr(...pairs) {
    const client = await this.page.context().newCDPSession(this.page);
    try {
      for (const [key, code] of pairs) {
        const event = { key, code, windowsVirtualKeyCode: virtual(code) };
        await client.send("Input.dispatchKeyEvent", { ...event, type: "keyDown", text: key, unmodifiedText: key });
        await client.send("Input.dispatchKeyEvent", { ...event, type: "keyUp" });
      }
    } finally {
      await client.detach();
    }
  }
}

function virtual(code) {
  return code.startsWith("Key") || code.startsWith("Digit") ? code.at(-1).charCodeAt(0) : 0;
}
