/**
 * A language pack of the test's own: it translates nothing of VS Code, and so VS Code's own words stay English, but the
 * workbench is in that language, and extensions speak it.
 */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";

const VERSION = "1.0.0";

/** Make it in `folder` for a user data folder: the path of the extension. */
export async function germanPack(folder, userData) {
  const extension = path.join(folder, "north-test.german-pack-1.0.0");
  const translations = { version: VERSION, contents: {} };
  const manifest = {
    name: "german-pack",
    publisher: "north-test",
    version: VERSION,
    engines: { vscode: "*" },
    contributes: {
      localizations: [
        { languageId: "de", languageName: "German", localizedLanguageName: "Deutsch", translations: [{ id: "vscode", path: "./main.i18n.json" }] },
      ],
    },
  };
  await mkdir(extension, { recursive: true });
  await writeFile(path.join(extension, "package.json"), JSON.stringify(manifest));
  await writeFile(path.join(extension, "main.i18n.json"), JSON.stringify(translations));
  // VS Code writes this file when a language pack is installed: it is what the server looks into before any extension runs.
  await mkdir(userData, { recursive: true });
  const installed = {
    de: {
      hash: "north-test",
      label: "Deutsch",
      extensions: [{ extensionIdentifier: { id: "north-test.german-pack" }, version: VERSION }],
      translations: { vscode: path.join(extension, "main.i18n.json") },
    },
  };
  await writeFile(path.join(userData, "languagepacks.json"), JSON.stringify(installed));
  return extension;
}
