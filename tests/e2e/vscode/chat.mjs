/** North's chat, as a test uses it. */
import { webview } from "./workbench.mjs";

export class Chat {
  constructor(page, frame = webview(page, "north.north")) {
    this.page = page;
    this.frame = frame;
    this.rows = this.frame.locator("#rows .row");
    this.input = this.frame.locator("#input");
  }

  async send(text) {
    await this.input.fill(text);
    await this.input.press("Enter");
  }

  row(kind) {
    return this.frame.locator(`#rows .row.${kind}`);
  }

  /** The question that waits. */
  question(kind) {
    return this.frame.locator(`#waiting .row.${kind}`);
  }

  async idle() {
    await this.frame.locator("#stop").waitFor({ state: "hidden" });
  }
}
