/** A model that answers as a test has written, like Anthropic's API, and keeps what it was sent. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";

import { checkout } from "./packed.mjs";

/** Between two pieces of a text. */
export const PAUSE = "\0";

/** An answer that is an error of the API instead of a stream. */
export const refusal = (status, type, message) => ({ status, error: { type, message } });

/**
 * `answers` are given one after the other, each a text, a list of calls `[name, arguments]` and texts before them, or a
 * function that makes one of what was sent; without one left, "Done.". A text is sent in pieces where it has `PAUSE`;
 * before each further piece the model awaits `hold(body)`.
 * `route` gives answers to requests that have some words, as several agents at once need them.
 * An answer to a request for which `isEndless` is true is begun and never ended. `check` holds every request to the
 * vendor's rules, which are the Python tests' own; `folder` is where they are recorded for it. With `counts` the tokens
 * of what was sent are reported, as far as its length tells; else there are ten.
 */
export async function scriptedModel(folder, isEndless = () => false) {
  const requests = [];
  const recorded = [];
  const answers = [];
  const routes = [];
  let calls = 0;
  const model = { counts: false, hold: async () => {} };
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (part) => (text += part));
    request.on("end", async () => {
      if (request.method !== "POST") return response.writeHead(404).end();
      const body = JSON.parse(text);
      requests.push(body);
      recorded.push(JSON.stringify([request.url.split("?")[0], body]));
      const routed = routes.find(({ words, answers }) => answers.length > 0 && text.includes(words));
      const next = (routed?.answers ?? answers).shift() ?? "Done.";
      const answer = typeof next === "function" ? next(body) : next;
      if (answer.error !== undefined) {
        response.writeHead(answer.status, { "content-type": "application/json" });
        return response.end(JSON.stringify({ type: "error", error: answer.error }));
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      const send = (type, data) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
      const usage = { input_tokens: model.counts ? Math.ceil(text.length / 4) : 10, output_tokens: 1 };
      send("message_start", { message: { id: "m", type: "message", role: "assistant", model: body.model, content: [], stop_reason: null, usage } });
      const parts = typeof answer === "string" ? [answer] : answer;
      for (const [index, part] of parts.entries()) {
        const isText = typeof part === "string";
        const block = isText ? { type: "text", text: "" } : { type: "tool_use", id: `toolu_${(calls += 1)}`, name: part[0], input: {} };
        send("content_block_start", { index, content_block: block });
        const pieces = isText ? part.split(PAUSE) : [JSON.stringify(part[1])];
        for (const [number, piece] of pieces.entries()) {
          if (number > 0) await model.hold(body);
          send("content_block_delta", { index, delta: isText ? { type: "text_delta", text: piece } : { type: "input_json_delta", partial_json: piece } });
        }
        if (isEndless(body)) return;
        send("content_block_stop", { index });
      }
      send("message_delta", { delta: { stop_reason: parts.every((part) => typeof part === "string") ? "end_turn" : "tool_use", stop_sequence: null }, usage });
      send("message_stop", {});
      response.end();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(model, {
    requests,
    answers,
    route: (words, ...answers) => routes.push({ words, answers }),
    env: { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: `http://127.0.0.1:${server.address().port}`, NORTH_DISCOVERY: "off", NORTH_NO_TITLE: "1", NORTH_NO_OFFER: "1" },
    /** The text of the last message, and the results of calls in it, which are texts as well. */
    last() {
      const { content } = requests.at(-1).messages.at(-1);
      if (typeof content === "string") return content;
      return content.map((part) => part.text ?? (typeof part.content === "string" ? part.content : JSON.stringify(part.content))).join("\n");
    },
    /** Fails if the vendor would have refused a request, or if there was none. */
    check() {
      const file = path.join(folder, "requests.jsonl");
      writeFileSync(file, recorded.map((line) => `${line}\n`).join(""));
      const python = path.join(checkout, ".venv/bin/python");
      const judged = spawnSync(python, ["-m", "tests.support.rules.recorded_requests", file], { cwd: checkout, encoding: "utf8" });
      if (judged.status !== 0) throw new Error(`the vendor would have refused: ${judged.stdout}${judged.stderr}`);
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  });
}
