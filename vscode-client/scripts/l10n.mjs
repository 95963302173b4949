/**
 * The texts of the source, for translators: writes l10n/bundle.l10n.json, takes what no source says any more out of the
 * translations, and names what they lack.
 */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { texts } from "./texts.mjs";

const client = join(import.meta.dirname, "..");
const folder = join(client, "l10n");
const { texts: all } = texts(join(client, "src"));
const write = (name, entries) => writeFileSync(join(folder, name), `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`);
write("bundle.l10n.json", all.map((text) => [text, text]));
for (const name of readdirSync(folder).filter((file) => /^bundle\.l10n\..+\.json$/.test(file))) {
  const known = JSON.parse(readFileSync(join(folder, name), "utf8"));
  write(name, all.filter((text) => text in known).map((text) => [text, known[text]]));
  for (const text of all.filter((one) => !(one in known))) console.log(`${name} lacks ${JSON.stringify(text)}`);
}
