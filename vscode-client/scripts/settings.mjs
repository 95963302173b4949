/**
 * The server's settings as settings of VS Code: made of config.schema.json, and put into package.json when the extension is
 * packed, so that there is one home for each. They belong to the user: no folder can set them.
 */

/** North writes the first itself; the second is a secret, and VS Code copies settings to other machines. */
const LEFT_OUT = ["selectedModel", "auth.broker.token"];
const LATER = " A change takes effect when North is restarted.";
const LATER_IN_GERMAN = " Gilt nach einem Neustart von North.";

/** By this tag the extension, and whoever searches the settings, knows them. */
export const TAG = "north-server";

/** `{ section, english, german }`: what package.json contributes, and its texts. `translations` are by the settings' keys. */
export function contributed(schema, translations) {
  const properties = {};
  const english = { "settings.title": "North’s Server" };
  const german = { "settings.title": "Norths Server" };
  for (const [key, { description, ...value }] of Object.entries(schema.definitions)) {
    if (LEFT_OUT.includes(key)) continue;
    properties[`north.${key}`] = { ...value, scope: "application", tags: [TAG], markdownDescription: `%settings.${key}%` };
    english[`settings.${key}`] = description;
    if (key in translations) german[`settings.${key}`] = translations[key] + (description.endsWith(LATER) ? LATER_IN_GERMAN : "");
  }
  return { section: { title: "%settings.title%", properties }, english, german };
}

/** A manifest with the server's settings. */
export function withSettings(manifest, section) {
  const { contributes } = manifest;
  return { ...manifest, contributes: { ...contributes, configuration: [contributes.configuration, section].flat() } };
}
