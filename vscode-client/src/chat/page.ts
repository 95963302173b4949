/** The chat's page: its parts, which the scripts fill, and what it may load. */

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

export function pageOf(webview: vscode.Webview, extension: vscode.Uri): string {
  const nonce = randomBytes(16).toString("base64");
  const address = (...names: string[]) => webview.asWebviewUri(vscode.Uri.joinPath(extension, ...names)).toString();
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${webview.cspSource} 'nonce-${nonce}'; font-src ${webview.cspSource}; form-action 'none'`;
  const { t } = vscode.l10n;
  return `<!DOCTYPE html>
<html lang="${vscode.env.language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width">
<style nonce="${nonce}">body { visibility: hidden; }</style>
<link rel="stylesheet" href="${address("out", "codicon.css")}">
<link rel="stylesheet" href="${address("media", "chat.css")}">
<link rel="stylesheet" href="${address("media", "footer.css")}">
<link rel="stylesheet" href="${address("media", "composer.css")}">
<link rel="stylesheet" href="${address("media", "start.css")}">
<title>North</title>
</head>
<body>
<main id="rows" role="feed" aria-live="off" aria-label="${say(t("Conversation"))}"></main>
<section id="welcome" aria-label="${say(t("First steps"))}"></section>
<p id="announce" class="visually-hidden" role="status"></p>
<section id="waiting" aria-label="${say(t("North asks you"))}" hidden></section>
<footer>
<section id="elsewhere" role="status" hidden></section>
<section id="starting" role="status"><span class="codicon codicon-loading codicon-modifier-spin" aria-hidden="true"></span><span class="words">${say(t("North is starting…"))}</span></section>
<section id="problem" role="alert" hidden></section>
<details id="work" hidden></details>
<details id="todo" hidden></details>
<ul id="queue" aria-label="${say(t("Waiting to be sent"))}" hidden></ul>
<p id="editing" role="status" hidden></p>
<div id="entry">
<ul id="offers" role="listbox" aria-label="${say(t("Suggestions"))}" hidden></ul>
<ul id="chips" aria-label="${say(t("Attached to the message"))}" hidden></ul>
<textarea id="input" rows="2" placeholder="${say(t("Ask North"))}" aria-label="${say(t("Message to North"))}" role="combobox" aria-autocomplete="list" aria-haspopup="listbox" aria-expanded="false" aria-controls="offers"></textarea>
<p id="composer-note" role="status" hidden></p>
<div id="controls">
<button type="button" id="attach" class="plain" title="${say(t("Attach files, problems, changes… (@ in the text, pictures by pasting)"))}" aria-label="${say(t("Attach…"))}"><span class="codicon codicon-attach" aria-hidden="true"></span></button>
<button type="button" id="usage" class="picker" aria-controls="usage-rows" aria-expanded="false" hidden></button>
<span id="activity" role="status"></span>
<span id="buttons">
<button type="button" id="stop" class="secondary" title="${say(t("Stop (Escape)"))}" hidden><span class="codicon codicon-debug-stop" aria-hidden="true"></span><span class="visually-hidden">${say(t("Stop"))}</span></button>
<button type="button" id="steer" class="secondary" title="${say(t("For the running turn, at its next step (Alt+Enter)"))}" hidden>${say(t("Steer"))}</button>
<button type="button" id="send">${say(t("Send"))}</button>
</span>
</div>
</div>
<dl id="usage-rows" hidden></dl>
<div id="pickers">
<button type="button" id="mode" class="picker" hidden></button>
<button type="button" id="model" class="picker" hidden></button>
<button type="button" id="thought_level" class="picker" hidden></button>
<button type="button" id="approvals" class="picker" hidden></button>
<button type="button" id="permitted" class="plain" title="${say(t("Allowed without asking: click to revoke it"))}" hidden></button>
</div>
</footer>
<script id="words" type="application/json">${wordsFor(vscode.l10n.bundle)}</script>
<script nonce="${nonce}" src="${address("out", "chat.js")}"></script>
</body>
</html>`;
}

/** A text as HTML, in an element or an attribute. */
function say(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

/** The page's texts in the user's language, as data: nothing in it ends the element that it is in. */
function wordsFor(bundle: Record<string, string> | undefined): string {
  return JSON.stringify(bundle ?? {}).replaceAll("<", "\\u003c");
}
