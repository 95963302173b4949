/**
 * What the model is told, in North's extension: a rule of the project changes an answer, what the editor shows goes along,
 * and a page says what each part of a request has. The model answers by what it is sent.
 */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";

import { makeBed } from "./bed.mjs";
import { editorTab, listInput, openFile } from "./controls.mjs";
import { checkout } from "./packed.mjs";
import { palette, screenshot, until, visibleLines, webview } from "./workbench.mjs";

const bed = await makeBed("context");
const model = await bed.useScriptedModel();
const project = await bed.sampleProject();
// How busy the machine is must not decide whether a server's tools are there.
await writeFile(bed.path("config/config.json"), JSON.stringify({ "mcp.startupWaitMs": 60_000, "compaction.keepRecentTokens": 100 }));
const { chat, page } = await bed.start({ workspace: project });

const obedient = (body) => (JSON.stringify(body.system).includes("like a sailor") ? "Ahoy!" : "Good day.");

async function answered(text) {
  const before = await chat.row("answer").count();
  model.answers.push(obedient);
  await chat.send(text);
  await until(`an answer to "${text}"`, async () => (await chat.row("answer").count()) > before);
  await chat.idle();
  return chat.row("answer").last().innerText();
}

await bed.each({
  async "a rule of the project changes the answer"() {
    assert.match(await answered("greet me"), /Good day\./);
    await mkdir(path.join(project, ".cursor/rules"), { recursive: true });
    await writeFile(path.join(project, ".cursor/rules/talk.mdc"), "---\nalwaysApply: true\n---\nTalk like a sailor.\n");
    assert.match(await answered("greet me again"), /Ahoy!/);
    await screenshot(page, "context-rule");
  },

  async "what the editor shows goes along"() {
    await openFile(page, "hello/greeting.py");
    await answered("what do I see");
    const told = model.last();
    assert.match(told, /Active file: hello\/greeting\.py/);
    assert.match(told, /Open files: hello\/greeting\.py/);
    assert.match(told, /Lines in view: 1-/);
  },

  async "a page says what the model is told"() {
    await palette(page, "North: Show Context");
    const shown = webview(page, "vscode.markdown-language-features");
    await shown.getByRole("heading", { name: "What the Model Is Told" }).waitFor();
    await shown.getByRole("cell", { name: "Project rules" }).first().waitFor();
    await screenshot(page, "context-page");
    await palette(page, "View: Close All Editors");
  },

  async "/context says it in the chat, and @rule: takes a rule along"() {
    await mkdir(path.join(project, ".windsurf/rules"), { recursive: true });
    await writeFile(path.join(project, ".windsurf/rules/wiki.md"), "---\ntrigger: manual\n---\nThe wiki is in English.\n");
    await answered("look at the rules");
    assert.doesNotMatch(JSON.stringify(model.requests.at(-1)), /The wiki is in English/);
    await chat.ask("/context");
    const shown = await chat.row("answer").last().innerText();
    assert.match(shown, /The next request has about [\d,]+ of 200,000 tokens/);
    assert.match(shown, /\.windsurf\/rules\/wiki\.md\s+active\s+named\s+via Windsurf, project\s+wiki/);
    await screenshot(page, "context-chat");
    await chat.input.pressSequentially("follow @rule:wi");
    await chat.frame.locator("#offers [role=option]", { hasText: "rule:wiki" }).waitFor();
    await screenshot(page, "context-names");
    await chat.input.press("Enter");
    assert.equal(await chat.input.inputValue(), "follow @rule:wiki ");
    await answered(`${await chat.input.inputValue()}now`);
    assert.match(model.last(), /The wiki is in English\./);
  },

  async "/compact summarizes the older part, which can be read, and the model goes on with the summary"() {
    await chat.renew();
    model.counts = true;
    await answered(`the beginning ${"long ".repeat(8_000)}`);
    for (let turn = 1; turn < 7; turn += 1) await answered(`go on, ${turn}`);
    model.answers.push(JSON.stringify({ goal: "Greet people", decisions: ["Be brief"], shortSummary: "Greeting" }));
    await chat.send("/compact keep the names");
    const row = chat.row("summary").last();
    await row.getByText("The conversation up to here was summarized").waitFor();
    await chat.idle();
    assert.match(JSON.stringify(model.requests.at(-1)), /keep the names/);
    await row.locator("details > summary").click();
    await row.getByText("Greet people").waitFor();
    await screenshot(page, "context-compacted");
    await row.getByRole("button", { name: "Show what it replaced" }).click();
    const editor = page.locator(".editor-group-container.active .monaco-editor").first();
    await until("what it replaced", async () => /the beginning/.test((await visibleLines(editor)).join("\n")));
    await palette(page, "View: Close All Editors");
    await answered("and now");
    const sent = JSON.stringify(model.requests.at(-1).messages);
    assert.match(sent, /Greet people/);
    assert.doesNotMatch(sent, /long long/);
  },

  async "rules, agents and tools are a list, which opens a rule and sends a command"() {
    await mkdir(path.join(project, ".cursor/rules"), { recursive: true });
    await writeFile(path.join(project, ".cursor/rules/listed.mdc"), "---\nalwaysApply: true\n---\nBe short.\n");
    await answered("look at the rules"); // what has changed is read before a turn
    const list = page.locator(".quick-input-widget");
    await palette(page, "North: Rules, Agents and Tools…");
    await list.locator(".monaco-list-row", { hasText: "listed" }).first().waitFor();
    await screenshot(page, "context-guidance");
    await listInput(page).fill("listed");
    await list.locator(".monaco-list-row.focused", { hasText: "listed" }).waitFor();
    await page.keyboard.press("Enter");
    await editorTab(page, "listed.mdc").waitFor();
    await palette(page, "North: Rules, Agents and Tools…");
    await listInput(page).fill("/mcp");
    await list.locator(".monaco-list-row.focused", { hasText: "/mcp" }).waitFor();
    await page.keyboard.press("Enter");
    await chat.row("user").filter({ hasText: /^\/mcp/ }).waitFor();
    await chat.idle();
  },

  async "a page of the web is asked about by its host, and fetched once"() {
    let asked = 0;
    const site = createServer((_, response) => {
      asked += 1;
      response.writeHead(200, { "content-type": "text/html" }).end("<html><body><main><h1>The page</h1><p>It says so.</p></main></body></html>");
    });
    await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
    try {
      const url = `http://127.0.0.1:${site.address().port}/some/page`;
      model.answers.push([["web_fetch", { url }]], "I have read it.");
      await chat.send("read the page");
      const question = chat.question("choice");
      await question.locator("code", { hasText: url }).waitFor();
      assert.equal(asked, 0);
      await screenshot(page, "context-web");
      await chat.decide("choice", "Fetch");
      await until("the answer", async () => (await chat.row("answer").last().innerText()).includes("I have read it."));
      await chat.idle();
      assert.equal(asked, 1);
      assert.match(model.last(), /The page[^]*It says so\./);
      await chat.row("tool").last().locator(".line > .icon").click();
      await screenshot(page, "context-web-fetched");
    } finally {
      site.closeAllConnections();
      site.close();
    }
  },

  async "an MCP server's tool is asked about, run and listed"() {
    const server = { command: "python3", args: ["-I", path.join(checkout, "tests/support/mcp_server.py")] };
    await writeFile(path.join(project, ".mcp.json"), JSON.stringify({ mcpServers: { helper: server } }));
    await chat.ask("/trust on");
    model.answers.push([["mcp_helper_echo", { text: "good morning" }]], "It said so.");
    await chat.send("say good morning");
    const question = chat.question("choice");
    await question.getByText("Run echo of the MCP server helper?").first().waitFor();
    assert.match(await question.innerText(), /this project \(\.mcp\.json\)[\s\S]*"text": "good morning"/);
    await screenshot(page, "context-mcp-question");
    await chat.decide("choice", "Run");
    await until("the answer", async () => /It said so\./.test(await chat.row("answer").last().innerText()));
    await chat.idle();
    assert.match(JSON.stringify(model.requests.at(-1).messages), /echo: good morning/);
    await chat.send("/mcp");
    await until("the list", async () => /helper: ready/.test(await chat.frame.locator("#rows").innerText()));
    await screenshot(page, "context-mcp-list");
  },

  async "an MCP server that is new in a trusted project is asked about with its whole entry"() {
    const command = { command: "python3", args: ["-I", path.join(checkout, "tests/support/mcp_server.py")] };
    await chat.ask("/trust on");
    const servers = { helper: command, another: { ...command, env: { A_TOKEN: "0123456789abcdef", NODE_OPTIONS: "--require ./x.js" } } };
    await writeFile(path.join(project, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
    model.answers.push("Good morning.");
    await chat.send("good morning");
    const question = chat.question("choice").last();
    await question.getByText("The MCP server another is new in this project since you trusted it. Start it?").first().waitFor();
    const shown = await question.innerText();
    assert.match(shown, /"A_TOKEN": "\[masked\]"[\s\S]*"NODE_OPTIONS": "--require \.\/x\.js"/);
    assert.doesNotMatch(shown, /0123456789abcdef/);
    await screenshot(page, "context-mcp-new");
    await question.locator(".body").evaluate((body) => body.scrollTo(0, body.scrollHeight)); // all of it must have been in view
    await chat.decide("choice", "Start it");
    await chat.idle();
    await chat.send("/mcp reload another");
    await until("the server", async () => /another: ready/.test(await chat.frame.locator("#rows").innerText()));
  },

  async "a project is learned, and its profile opens"() {
    const answers = await chat.row("answer").count();
    model.answers.push(...Array.from({ length: 10 }, () => () => "Found out by reading."));
    await chat.send("/learn");
    await until("what came of it", async () => /Learned 10 of 10 topics/.test((await chat.row("answer").allInnerTexts()).slice(answers).join("\n")));
    await chat.idle();
    assert.match(await chat.row("tool").last().innerText(), /Learning this project - 10 of 10 topics/);
    await screenshot(page, "context-learned");
    await chat.row("answer").last().getByText("profile.md").click();
    await editorTab(page, "profile.md").waitFor();
    await palette(page, "View: Close All Editors");
    await editorTab(page, "profile.md").waitFor({ state: "detached" });
    await palette(page, "North: Open What Was Learned About the Project");
    await editorTab(page, "profile.md").waitFor();
    const editor = page.locator(".editor-group-container.active .monaco-editor").first();
    await until("the profile", async () => /Project Summary/.test((await visibleLines(editor)).join("\n")));
    await answered("greet me once more");
    assert.match(JSON.stringify(model.requests.at(-1)), /Found out by reading/);
  },
});
