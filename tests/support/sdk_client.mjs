// A client made of the official TypeScript SDK: it does what its input says, and prints what came of it as JSON.
// Input: {entry, command, answers, steps}. A step is {request, params}, {begin, params} (a request that is not waited
// for), {end} (its answer), {notify, params} or {wait}, a text that an update has to contain. "$session" in params is the
// session of the last answer that had one. `answers` are the options chosen, one for each question.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const input = JSON.parse(readFileSync(0, "utf8"));
const sdk = await import(pathToFileURL(input.entry).href);
const [program, ...rest] = input.command;
const agent = spawn(program, rest, { stdio: ["pipe", "pipe", "inherit"], cwd: input.cwd });
const found = { results: [], updates: [], asked: [], forms: [] };
const waiting = [];
let session = "";

const has = (text) => found.updates.some((update) => JSON.stringify(update).includes(text));
const filled = (value) => JSON.parse(JSON.stringify(value ?? {}).replaceAll("$session", session));
const noted = (result) => {
  session = result?.sessionId ?? session;
  found.results.push(result ?? {});
};
const failed = (error) => found.results.push({ error: { code: error.code, message: String(error.message) } });

const app = sdk.client({ name: "test" });
app.onRequest("session/request_permission", ({ params }) => {
  found.asked.push(params);
  return { outcome: { outcome: "selected", optionId: input.answers.shift() ?? "reject" } };
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

const stream = sdk.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
await app.connectWith(stream, async (context) => {
  let running;
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
