// A client made of the official TypeScript SDK: it does what its input says, and prints what came of it as JSON.
// Input: {entry, command, answers, steps}. A step is {request, params}, {begin, params} (a request that is not waited
// for), {end} (its answer), {notify, params} or {wait}, a text that an update has to contain. "$session" in params is the
// session of the last answer that had one. `answers` are the options chosen, one for each question. With `tools`, it has
// an MCP server in itself, and "$tools" in params is how that is declared.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const input = JSON.parse(readFileSync(0, "utf8"));
const sdk = await import(pathToFileURL(input.entry).href);
const [program, ...rest] = input.command;
const agent = spawn(program, rest, { stdio: ["pipe", "pipe", "inherit"], cwd: input.cwd });
const found = { results: [], updates: [], asked: [], forms: [], served: [] };
const waiting = [];
let session = "";

const has = (text) => found.updates.some((update) => JSON.stringify(update).includes(text));
let tools;
const filled = (value) =>
  JSON.parse(JSON.stringify(value ?? {}).replaceAll("$session", session), (_, one) => (one === "$tools" ? tools : one));
const noted = (result) => {
  session = result?.sessionId ?? session;
  found.results.push(result ?? {});
};
const failed = (error) => found.results.push({ error: { code: error.code, message: String(error.message) } });

const app = sdk.client({ name: "test" });
app.onRequest("session/request_permission", ({ params }) => {
  found.asked.push(params);
  return { outcome: { outcome: "selected", optionId: input.answers.shift() ?? "reject_once" } };
});
app.onNotification("session/update", ({ params }) => {
  found.updates.push(params.update);
  for (const one of waiting.filter(({ text }) => has(text))) one.done();
});
app.onRequest("elicitation/create", ({ params }) => {
  found.forms.push(params);
  return { action: "accept", content: input.form };
});
if (sdk.methods.client.fs !== undefined) {
  app.onRequest("fs/read_text_file", ({ params }) => ({ content: readFileSync(params.path, "utf8") }));
  app.onRequest("fs/write_text_file", ({ params }) => {
    writeFileSync(params.path, params.content);
    return {};
  });
}

const provider = input.tools ? new sdk.McpOverAcpProvider() : undefined;
if (provider !== undefined) app.onRequest("mcp/message", provider.handleRequest);

// Answers as a server with one tool does; a call reports its progress and, for the text "wait", never ends by itself.
async function serve({ method, params, signal, notify }) {
  found.served.push(method);
  if (method === "server/discover")
    return { result: { supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, resultType: "complete" } };
  if (method === "tools/list")
    return { result: { tools: [{ name: "echo", description: "Says it.", inputSchema: { type: "object" } }] } };
  if (method !== "tools/call") throw new sdk.McpProtocolError(-32601, "unknown method");
  await notify("notifications/progress", { progressToken: params._meta.progressToken, progress: 1, message: params.arguments.text });
  if (params.arguments.text === "wait")
    await new Promise((done) => signal.addEventListener("abort", () => done(found.served.push("aborted"))));
  return { result: { content: [{ type: "text", text: `echo: ${params.arguments.text}` }] } };
}

const stream = sdk.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
await app.connectWith(stream, async (context) => {
  let running;
  tools = provider?.registerServer(context, { name: "tools", handler: serve }).declaration;
  for (const step of input.steps) {
    if (step.request !== undefined) await context.request(step.request, filled(step.params)).then(noted, failed);
    if (step.begin !== undefined) running = context.request(step.begin, filled(step.params));
    if (step.end !== undefined) await running.then(noted, failed);
    if (step.notify !== undefined) await context.notify(step.notify, filled(step.params));
    if (step.wait !== undefined && !has(step.wait))
      await new Promise((done) => waiting.push({ text: step.wait, done }));
  }
});
agent.stdin.end();
process.stdout.write(JSON.stringify(found));
