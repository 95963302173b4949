/** North's chat, as a test uses it. */
import { palette, until, webview } from "./workbench.mjs";

export class Chat {
  constructor(page, frame = webview(page, "north.north")) {
    this.page = page;
    this.frame = frame;
    this.rows = this.frame.locator("#rows .row");
    this.input = this.frame.locator("#input");
  }

  /** A conversation is open, and prompts may edit. */
  async ready() {
    await this.frame.locator("#mode", { hasText: /^Agent$/ }).waitFor();
  }

  /** The page has the focus, which it takes late: before, it takes it from what was opened meanwhile. */
  async focused() {
    await this.frame.locator("#input:focus").waitFor({ timeout: 10_000 }).catch(() => undefined); // something else may have it
  }

  /** The page's script is there: before, Enter is a new line of the input, and what is typed stays in it. */
  async listens() {
    await this.frame.locator("#welcome h2").waitFor({ state: "attached" });
  }

  async send(text) {
    await this.listens();
    await this.input.fill(text);
    await this.input.press("Enter");
  }

  /** Send a prompt and wait for the end of its turn. */
  async ask(text) {
    const before = await this.row("answer").count();
    await this.send(text);
    await until(`an answer to "${text}"`, async () => (await this.row("answer").count()) > before);
    await this.idle();
  }

  row(kind) {
    return this.frame.locator(`#rows .row.${kind}`);
  }

  /** The question that waits. */
  question(kind) {
    return this.frame.locator(`#waiting .row.${kind}`);
  }

  /** The button of the question that waits. */
  decide(kind, name) {
    return this.question(kind).getByRole("button", { name, exact: true }).click();
  }

  async idle() {
    await this.frame.locator("#stop").waitFor({ state: "hidden" });
  }

  /** Begin a conversation that has no rows; one that has none yet is one. Another in its place could not be seen, and
   * what is sent meanwhile would be sent to the one that is left. */
  async renew() {
    await this.frame.locator("#mode", { hasText: /./ }).waitFor(); // a conversation is open
    if ((await this.rows.count()) === 0) return;
    await palette(this.page, "North: New Chat");
    await until("the rows to be gone", async () => (await this.rows.count()) === 0);
    await this.ready();
  }
}
