/** Writes what it found into probe.json of the open folder. */
const { writeFile } = require("node:fs/promises");
const path = require("node:path");
const vscode = require("vscode");

const folder = () => vscode.workspace.workspaceFolders[0].uri;
const tell = (found) => writeFile(path.join(folder().fsPath, "probe.json"), JSON.stringify(found));

async function call(name, input) {
  try {
    const { content } = await vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined });
    return content.map((part) => part.value).join("");
  } catch (error) {
    return `failed: ${error.message}`;
  }
}

exports.activate = (context) => {
  const register = (name, run) => context.subscriptions.push(vscode.commands.registerCommand(name, run));
  register("probe.tools", async () => {
    await tell({
      names: vscode.lm.tools.map(({ name }) => name).filter((name) => name.startsWith("north_")),
      found: await call("north_find_files", { pattern: "*.ts" }),
      read: await call("north_read_file", { path: "lamp.ts" }),
      closed: await call("north_read_file", { path: "secret.txt" }),
      searched: await call("north_search_text", { query: "the key" }),
    });
  });
  const tests = vscode.tests.createTestController("probe", "Probe");
  context.subscriptions.push(tests);
  register("probe.failedTest", async () => {
    const test = tests.createTestItem("burns", "burns", vscode.Uri.joinPath(folder(), "lamp.ts"));
    test.range = new vscode.Range(0, 0, 0, 5);
    const message = vscode.TestMessage.diff("it is dark", "light", "darkness");
    await vscode.commands.executeCommand("north.fixTest", { test, message });
  });
  // VS Code's chat opens only for somebody who answers by default, and asks nobody without a model: both are here, and do nothing.
  context.subscriptions.push(vscode.chat.createChatParticipant("probe.nobody", async (_request, _context, stream) => stream.markdown("I am nobody.")));
  const model = { id: "probe", name: "Probe", family: "probe", version: "1", maxInputTokens: 1_000, maxOutputTokens: 1_000, capabilities: { toolCalling: true }, isDefault: true, isUserSelectable: true };
  const provider = { provideLanguageModelChatInformation: async () => [model], provideLanguageModelChatResponse: async () => undefined, provideTokenCount: async () => 1 };
  context.subscriptions.push(vscode.lm.registerLanguageModelChatProvider("probe", provider));
  register("probe.chat", async () => {
    await vscode.lm.selectChatModels({}); // only then the chat knows which there are
    await vscode.commands.executeCommand("workbench.action.chat.open", { query: "@north what is lamp?", isPartialQuery: true });
  });
};
