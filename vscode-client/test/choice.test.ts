import assert from "node:assert/strict";
import { test } from "node:test";

import { chooseServer, type Facts, type Source } from "../src/install/choice";

const HOME = "/home/ann/project";

/** A world in which only these programs exist. */
function world(programs: string[], given: Partial<Facts> = {}): Facts {
  return {
    platform: "linux",
    folders: [HOME],
    pathVariable: "/usr/bin:/opt/bin",
    hasWheel: true,
    isProgram: async (file) => programs.includes(file),
    real: async (file) => file,
    ...given,
  };
}

const choose = (programs: string[], source: Source = "included", given: Partial<Facts> = {}, path = "") =>
  chooseServer({ path, source }, world(programs, given));

test("the extension's own server is the first choice, whatever lies on PATH or in the folder", async () => {
  const programs = ["/usr/bin/north-lsp", `${HOME}/.venv/bin/north-lsp`];
  assert.deepEqual(await choose(programs), { kind: "install" });
});

test("a path in the settings wins, and has to exist", async () => {
  assert.deepEqual(await choose(["/my/north-lsp"], "path", {}, "/my/north-lsp"), { kind: "start", program: "/my/north-lsp" });
  assert.deepEqual(await choose([], "included", {}, "/my/north-lsp"), { kind: "noProgram", path: "/my/north-lsp" });
});

test("the server on PATH is started where the settings say so, and where there is no other", async () => {
  const found = { kind: "start", program: "/opt/bin/north-lsp" };
  assert.deepEqual(await choose(["/opt/bin/north-lsp"], "path"), found);
  assert.deepEqual(await choose(["/opt/bin/north-lsp"], "included", { hasWheel: false }), found);
  assert.deepEqual(await choose([], "path"), { kind: "notOnPath", inFolder: undefined });
});

test("nothing of the workspace is started because PATH leads there", async () => {
  const inside = `${HOME}/.venv/bin/north-lsp`;
  const withVenv = { pathVariable: `${HOME}/.venv/bin:.venv/bin:/opt/bin` };
  assert.deepEqual(await choose([inside], "path", withVenv), { kind: "notOnPath", inFolder: inside });
  assert.deepEqual(await choose([inside, "/opt/bin/north-lsp"], "path", withVenv), { kind: "start", program: "/opt/bin/north-lsp" });
});

test("nor because a link does", async () => {
  const real = async (file: string) => (file === "/opt/bin/north-lsp" ? `${HOME}/bin/north-lsp` : file);
  assert.deepEqual(await choose(["/opt/bin/north-lsp"], "path", { real }), { kind: "notOnPath", inFolder: undefined });
});

test("nor where the folder was opened through a link", async () => {
  const real = async (file: string) => file.replace("/link", HOME);
  const given = { folders: ["/link"], pathVariable: `${HOME}/bin`, real };
  assert.deepEqual(await choose([`${HOME}/bin/north-lsp`], "path", given), { kind: "notOnPath", inFolder: undefined });
});

test("the workspace's own server is started where the user's settings say so", async () => {
  const second = "/home/ann/other/venv/bin/north-lsp";
  const folders = [HOME, "/home/ann/other"];
  assert.deepEqual(await choose([second, "/usr/bin/north-lsp"], "workspace", { folders }), { kind: "start", program: second });
  assert.deepEqual(await choose(["/usr/bin/north-lsp"], "workspace"), {
    kind: "notInWorkspace",
    places: [`${HOME}/.venv/bin/north-lsp`, `${HOME}/venv/bin/north-lsp`],
  });
});

test("on Windows the extension's own server is installed as elsewhere", async () => {
  assert.deepEqual(await choose([], "included", { platform: "win32" }), { kind: "install" });
});
