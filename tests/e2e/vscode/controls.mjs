/** What several tests do in the workbench: files and lists in the quick input, dialogs, themes. Knows nothing of North. */
import path from "node:path";

import { palette, until } from "./workbench.mjs";

/** The input of the list that is open, and its rows by their text. */
export const listInput = (page) => page.locator(".quick-input-widget input.input");
export const listRow = (page, text) => page.locator(".quick-input-list .monaco-list-row", { hasText: text });
export const focusedRow = (page, text) => page.locator(".quick-input-list .monaco-list-row.focused", { hasText: text });

export const dialog = (page) => page.locator(".monaco-dialog-box");
export const editorTab = (page, text) => page.locator(".tabs-container .tab", { hasText: text });

/** Type into the list that is open, and take the row that has a text once it has the focus. */
export async function pick(page, typed, text = typed, soon = {}) {
  await listInput(page).fill(typed, soon);
  await focusedRow(page, text).waitFor(soon);
  await page.keyboard.press("Enter");
}

/** Open a file by its path, or the end of it, in an editor of its own: that editor. */
export async function openFile(page, file) {
  const name = path.basename(file);
  const row = listRow(page, name).first();
  await until(`${file} among the files`, async () => {
    // The list is made when it opens, and it closes when something else takes the focus.
    await page.keyboard.press("F1"); // without its ">" the palette lists files
    if (!(await listInput(page).fill(file, { timeout: 3_000 }).then(() => true, () => false))) return false;
    if (await row.click({ timeout: 3_000 }).then(() => true, () => false)) return true;
    await page.keyboard.press("Escape");
    return false;
  });
  await page.locator(".tabs-container .tab.active", { hasText: name }).waitFor();
  const editor = page.locator(".editor-group-container.active .monaco-editor").first();
  await editor.locator(".view-line").first().waitFor();
  return editor;
}

/** Choose a color theme, and wait until a webview is drawn in it. */
export async function chooseTheme(page, frame, theme) {
  await until(`${theme} among the themes`, async () => {
    await palette(page, "Preferences: Color Theme");
    // The list closes when something else takes the focus, like a page that has just come.
    const chosen = await pick(page, theme, theme, { timeout: 10_000 }).then(() => true, () => false);
    if (!chosen) await page.keyboard.press("Escape");
    return chosen;
  });
  await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  await until(theme, async () => (await frame.locator("body").getAttribute("data-vscode-theme-name")) === theme);
}

/** Load the window again, as VS Code's own command does it. */
export async function reloadWindow(page) {
  await page.evaluate(() => (window.beforeReload = true));
  await palette(page, "Developer: Reload Window").catch(() => undefined); // the list may go with the window
  await until("the window to be made again", async () => !(await page.evaluate(() => window.beforeReload).catch(() => true)));
  await page.locator(".monaco-workbench .statusbar").waitFor();
}

/**
 * Take the focus from a window, as another program does that comes to the front; the answer gives it back. Playwright keeps
 * every page focused, whatever else is opened, so the page is told what the browser would tell it.
 */
export async function turnAway(page) {
  const told = (hasFocus) =>
    page.evaluate((hasFocus) => {
      document.hasFocus = () => hasFocus;
      // A blurred window is no news where a webview has the keyboard: VS Code looks again at this, too.
      document.dispatchEvent(new Event("visibilitychange"));
    }, hasFocus);
  await told(false);
  return () => told(true);
}
