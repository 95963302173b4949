import assert from "node:assert/strict";
import { test } from "node:test";

import { findTools, placesOf, type Run } from "../src/install/tools";

/** Programs by their path, with what they print when asked. */
type Programs = Record<string, string>;

const python = (version: number[], venv = true) => `${JSON.stringify({ version, venv })}\n`;

function find(programs: Programs, chosen = "", uv: string[] = []) {
  const run: Run = async (program) => ({ code: programs[program] === "broken" ? 1 : 0, output: programs[program] ?? "" });
  const places = { uv, python: Object.keys(programs).filter((name) => !uv.includes(name)) };
  return findTools(chosen, places, async (file) => file in programs, run);
}

test("the first Python that is new enough and has venv is taken", async () => {
  const found = await find({ "/a/python3": python([3, 9, 2]), "/b/python3": python([3, 12, 1]), "/c/python3": python([3, 13, 0]) });
  assert.deepEqual(found, [{ kind: "python", program: "/b/python3", version: "3.12.1" }]);
});

test("uv comes before Python, which stands by", async () => {
  const found = await find({ "/a/uv": "uv 0.9", "/a/python3": python([3, 11, 0]) }, "", ["/a/uv"]);
  assert.deepEqual(found, [
    { kind: "uv", program: "/a/uv" },
    { kind: "python", program: "/a/python3", version: "3.11.0" },
  ]);
});

test("uv needs no Python: it gets one", async () => {
  assert.deepEqual(await find({ "/a/uv": "uv 0.9", "/a/python3": python([3, 9, 0]) }, "", ["/a/uv"]), [{ kind: "uv", program: "/a/uv" }]);
});

test("a program that does not run is passed over", async () => {
  const programs = { "/a/uv": "broken", "/a/python3": "broken", "/b/python3": "hello", "/c/python3": python([4, 0, 0]) };
  assert.deepEqual(await find(programs, "", ["/a/uv"]), [{ kind: "python", program: "/c/python3", version: "4.0.0" }]);
});

test("what a Python prints before its answer does not matter", async () => {
  assert.deepEqual(await find({ "/a/python3": `warning: hello\n${python([3, 11, 4])}` }), [{ kind: "python", program: "/a/python3", version: "3.11.4" }]);
});

test("without a tool it is said what came closest", async () => {
  assert.deepEqual(await find({}), { kind: "missing" });
  assert.deepEqual(await find({ "/a/python3": python([3, 9, 2]) }), { kind: "tooOld", program: "/a/python3", version: "3.9.2" });
  assert.deepEqual(await find({ "/a/python3": python([3, 9, 2]), "/b/python3": python([3, 11, 2], false) }), {
    kind: "noVenv",
    program: "/b/python3",
    version: "3.11.2",
  });
});

test("a Python that the user chose is the only one, also where uv is there", async () => {
  const programs = { "/a/uv": "uv 0.9", "/a/python3": python([3, 12, 0]), "/mine": python([3, 11, 0]), "/old": python([3, 8, 0]) };
  assert.deepEqual(await find(programs, "/mine", ["/a/uv"]), [{ kind: "python", program: "/mine", version: "3.11.0" }]);
  assert.deepEqual(await find(programs, "/old", ["/a/uv"]), { kind: "tooOld", program: "/old", version: "3.8.0" });
  assert.deepEqual(await find(programs, "/none", ["/a/uv"]), { kind: "noPython", program: "/none" });
});

test("on Windows Python is also looked for where its installer puts it, and uv where its own does", () => {
  const places = placesOf({ PATH: "C:\\repo\\venv;bin;D:\\tools" }, "C:\\Users\\ann", "win32", (folder) => folder.startsWith("C:\\repo"));
  assert.deepEqual(places.uv.slice(0, 2), ["D:\\tools\\uv.exe", "C:\\Users\\ann\\.local\\bin\\uv.exe"]);
  assert.ok(places.python.includes("C:\\Users\\ann\\AppData\\Local\\Programs\\Python\\Python313\\python.exe"));
  assert.ok([...places.uv, ...places.python].every((file) => /^[CD]:/.test(file) && !file.startsWith("C:\\repo")));
});

test("programs are looked for in absolute folders that are not the workspace's, the usual ones included", () => {
  const places = placesOf({ PATH: "/repo/.venv/bin:bin:.:/opt/bin" }, "/home/ann", "linux", (folder) => folder.startsWith("/repo"));
  assert.deepEqual(places.uv.slice(0, 3), ["/opt/bin/uv", "/home/ann/.local/bin/uv", "/home/ann/.cargo/bin/uv"]);
  assert.equal(places.python[0], "/opt/bin/python3");
  assert.ok([...places.uv, ...places.python].every((file) => file.startsWith("/") && !file.startsWith("/repo")));
});
