import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { test } from "node:test";

import { homeOf, isInstalled, lockHome, removeUnused, markNotInstalled } from "../src/install/home";
import { Aborted, environmentFor, runnerIn } from "../src/install/processes";
import { causeOf, installWheel, StepFailed } from "../src/install/steps";
import type { Run } from "../src/install/tools";
import { includedWheel, type Wheel } from "../src/install/wheel";

const wheel: Wheel = { file: "/vsix/server/north_lsp-0.1.0-py3-none-any.whl", version: "0.1.0", sha256: "ab".repeat(32) };
const changed: Wheel = { ...wheel, sha256: "cd".repeat(32) };

async function inFolder(check: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), "north-install-"));
  try {
    await check(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Makes the programs that a real installation would make, and writes down what it was told. */
function fakeRun(told: string[], failing: Record<string, string> = {}): Run {
  return async (program, args) => {
    told.push([path.basename(program), ...args].join(" "));
    const output = Object.entries(failing).find(([word]) => args.includes(word))?.[1];
    if (output !== undefined) return { code: 1, output };
    const folder = args.includes("venv") ? args.at(-1) : undefined;
    if (folder !== undefined) {
      await mkdir(path.join(folder, "bin"), { recursive: true });
      for (const name of ["python", "north-lsp"]) {
        await writeFile(path.join(folder, "bin", name), "");
        await chmod(path.join(folder, "bin", name), 0o755);
      }
    }
    return { code: 0, output: "" };
  };
}

const python = { kind: "python", program: "/usr/bin/python3", version: "3.11.2" } as const;

test("the wheel is installed with venv and pip, out of the user's own index", () =>
  inFolder(async (storage) => {
    const home = homeOf(storage, wheel, "linux");
    const told: string[] = [];
    const steps: string[] = [];
    assert.equal(await isInstalled(home, wheel), false);
    await installWheel(wheel, home, python, fakeRun(told), (step) => steps.push(step));
    assert.deepEqual(told, [
      `python3 -I -m venv ${home.folder}`,
      `python -I -m pip install --disable-pip-version-check --no-input --progress-bar off ${wheel.file}`,
      "north-lsp --version",
    ]);
    assert.deepEqual(steps, ["environment", "packages", "check"]);
    assert.equal(await isInstalled(home, wheel), true);
  }));

test("or with uv", () =>
  inFolder(async (storage) => {
    const home = homeOf(storage, wheel, "linux");
    const told: string[] = [];
    await installWheel(wheel, home, { kind: "uv", program: "/opt/uv" }, fakeRun(told), () => undefined);
    assert.deepEqual(told.slice(0, 2), [
      `uv venv --no-project --python >=3.11 ${home.folder}`,
      `uv pip install --python ${home.python} ${wheel.file}`,
    ]);
    assert.equal(await isInstalled(home, wheel), true);
  }));

test("what did not come to its end counts as not installed, and is made anew", () =>
  inFolder(async (storage) => {
    const home = homeOf(storage, wheel, "linux");
    const failing = fakeRun([], { install: "ERROR: No matching distribution found for pygls<3,>=2.1.1" });
    const failed = await installWheel(wheel, home, python, failing, () => undefined).catch((error: unknown) => error);
    assert.ok(failed instanceof StepFailed);
    assert.deepEqual([failed.step, failed.why, failed.detail], ["packages", "package", "pygls"]);
    assert.equal(await isInstalled(home, wheel), false);
    await writeFile(path.join(home.folder, "left-over"), "");
    await installWheel(wheel, home, python, fakeRun([]), () => undefined);
    assert.equal((await readdir(home.folder)).includes("left-over"), false);
  }));

test("another wheel has an environment of its own, also with the same version", () =>
  inFolder(async (storage) => {
    const home = homeOf(storage, wheel, "linux");
    await installWheel(wheel, home, python, fakeRun([]), () => undefined);
    assert.notEqual(homeOf(storage, changed).folder, home.folder);
    assert.equal(await isInstalled(homeOf(storage, changed), changed), false);
    assert.equal(await isInstalled(home, changed), false);
    await markNotInstalled(home);
    assert.equal(await isInstalled(home, wheel), false);
  }));

test("an environment whose Python is gone is made anew", () =>
  inFolder(async (storage) => {
    const home = homeOf(storage, wheel, "linux");
    await installWheel(wheel, home, python, fakeRun([]), () => undefined);
    await rm(home.python);
    await symlink("/nowhere/python3", home.python);
    assert.equal(await isInstalled(home, wheel), false);
  }));

test("an environment that no window has used for two weeks is removed", () =>
  inFolder(async (storage) => {
    const old = homeOf(storage, wheel, "linux");
    await installWheel(wheel, old, python, fakeRun([]), () => undefined);
    const now = homeOf(storage, changed, "linux");
    await installWheel(changed, now, python, fakeRun([]), () => undefined);
    assert.deepEqual(await removeUnused(now), []);
    const before = new Date(Date.now() - 15 * 24 * 60 * 60_000);
    for (const home of [old, now]) await utimes(path.join(home.folder, "installed.json"), before, before);
    assert.deepEqual(await removeUnused(now), [path.basename(old.folder)]);
    assert.equal(await isInstalled(now, changed), true);
  }));

test("two windows do not install at once, and one that was killed keeps nobody waiting", () =>
  inFolder(async (storage) => {
    const home = homeOf(storage, wheel, "linux");
    const never = new AbortController().signal;
    const unlock = await lockHome(home, never, async () => assert.fail("waited"));
    let waited = 0;
    const second = lockHome(home, never, async () => {
      waited += 1;
      await unlock();
    });
    await (await second)();
    assert.equal(waited, 1);
    await writeFile(`${home.folder}.lock`, "2147483000"); // more than any process has
    await (await lockHome(home, never, async () => assert.fail("waited")))();
    await lockHome(home, never, async () => undefined);
    await assert.rejects(lockHome(home, AbortSignal.abort(), async () => undefined));
  }));

test("the extension says which wheel it carries", () =>
  inFolder(async (extension) => {
    assert.equal(await includedWheel(extension), undefined);
    await mkdir(path.join(extension, "server"));
    const about = { wheel: "north_lsp-0.1.0-py3-none-any.whl", version: "0.1.0", sha256: wheel.sha256 };
    const write = (value: unknown) => writeFile(path.join(extension, "server/server.json"), JSON.stringify(value));
    await write(about);
    assert.equal((await includedWheel(extension))?.file, path.join(extension, "server", about.wheel));
    for (const wrong of [{ ...about, wheel: "../x.whl" }, { ...about, version: "../.." }, { ...about, sha256: "" }, null, []]) {
      await write(wrong);
      assert.equal(await includedWheel(extension), undefined);
    }
  }));

test("why it failed is read from what was printed", () => {
  const cases: [string, string, string][] = [
    [
      "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('<x>: Failed to establish a new connection: [Errno -2] Name or service not known')': /simple/pygls/\nERROR: No matching distribution found for pygls",
      "network",
      "Name or service not known",
    ],
    ["ERROR: Could not find a version that satisfies the requirement ripgrep<15,>=14.1 (from versions: none)\nERROR: No matching distribution found for ripgrep<15,>=14.1", "package", "ripgrep"],
    ["  × No solution found when resolving dependencies:\n  ╰─▶ Because lsprotocol was not found in the package registry", "package", "solution"],
    ["SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed'))", "certificate", "CERTIFICATE"],
    ["  ERROR: Failed building wheel for tree-sitter-php", "build", "tree-sitter-php"],
    ["OSError: [Errno 28] No space left on device", "disk", "No space"],
    ["The virtual environment was not created successfully because ensurepip is not available.", "venv", "ensurepip"],
    ["PermissionError: [Errno 13] Permission denied: '/x'", "permission", "/x"],
    ["first\nerror: something else\nlast", "other", "error: something else"],
    ["", "other", ""],
  ];
  for (const [output, why, part] of cases) {
    const [cause, detail] = causeOf(output);
    assert.equal(cause, why, output);
    assert.ok(detail.includes(part), `${detail} has no ${part}`);
  }
});

test("programs run in a folder of their own, with their output told, and end when it is cancelled", () =>
  inFolder(async (folder) => {
    const lines: string[] = [];
    const run = runnerIn(folder, new AbortController().signal, (line) => lines.push(line));
    const ran = await run(process.execPath, ["-e", "console.log(process.cwd()); console.error('two'); process.exit(3)"]);
    assert.equal(ran.code, 3);
    assert.deepEqual(lines.sort(), [folder, "two"].sort());
    assert.equal((await run("/nowhere/python3", [])).code, null);
    const stop = new AbortController();
    const waits = runnerIn(folder, stop.signal, () => stop.abort())(process.execPath, ["-e", "console.log(1); setInterval(() => 0, 1000)"]);
    await assert.rejects(waits, Aborted);
  }));

test("variables that would lead out of the environment are not passed on; the index is", () => {
  const given = environmentFor({ PYTHONPATH: "/evil", PIP_TARGET: "/x", PIP_INDEX_URL: "https://example.com/simple", PIP_USER: "1" });
  assert.deepEqual(given, { PIP_INDEX_URL: "https://example.com/simple", PIP_USER: "0", PYTHONNOUSERSITE: "1", PYTHONUTF8: "1" });
});

test("what pip says about the network is told in plain words", () => {
  const retry = "WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by";
  for (const [broken, words] of [
    ["'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f61cf9c7fd0>: Failed to establish a new connection: [Errno 111] Connection refused')': /simple/anthropic/", "Failed to establish a new connection: [Errno 111] Connection refused"],
    [`'ReadTimeoutError("HTTPSConnectionPool(host='index', port=443): Read timed out. (read timeout=15)")': /simple/anthropic/`, "HTTPSConnectionPool(host='index', port=443): Read timed out. (read timeout=15)"],
  ] as const) {
    assert.deepEqual(causeOf(`Collecting anthropic\n${retry} ${broken}\nERROR: No matching distribution found for anthropic`), ["network", words]);
  }
  assert.deepEqual(causeOf("error: Failed to fetch: dns error"), ["network", "error: Failed to fetch: dns error"]);
});
