import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

import { CLOSED, commandLine, exitOf, Output, plainOf, readableLine, terminalFor } from "../src/places/output";

test("colors, titles and shell integration's marks are no text", () => {
  const written = "\x1b]633;C\x07\x1b[31mred\x1b[0m\x1b]0;title\x07 plain\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\r\n\x1b(B\x1b[?25l";
  assert.equal(plainOf(written), "red plainlink\n");
});

test("what a carriage return or a backspace writes over is gone", () => {
  assert.equal(plainOf("10 %\r50 %\r100 %\r\ndone"), "100 %\ndone");
  assert.equal(plainOf("abcdef\rxy"), "xycdef");
  assert.equal(plainOf("lamo\bp"), "lamp");
});

test("the start of a command to the terminal that has not arrived whole is no text", () => {
  assert.equal(plainOf("text\x1b[3"), "text");
  assert.equal(plainOf("text\x1b]633;D"), "text");
  assert.equal(plainOf("text\x1b"), "text");
});

test("an output within its bounds is whole", () => {
  const output = new Output(100);
  output.push("one\r\n");
  output.push("two");
  assert.deepEqual(output.get(), { output: "one\ntwo", truncated: false });
});

test("of a long output the end is kept, in bytes, and no character is cut", () => {
  const output = new Output(5);
  output.push("ääää"); // two bytes each
  assert.deepEqual(output.get(), { output: "ää", truncated: true });
});

test("an endless output takes no endless memory", () => {
  const output = new Output(10);
  for (let index = 0; index < 1_000; index += 1) output.push(`line ${index}\n`);
  assert.deepEqual(output.get(), { output: "\nline 999\n", truncated: true });
});

for (const word of ["plain", "a b", "$HOME `id` $(id)", "it's", "new\nline\tand tab", "ä → 漢字", "!! 'x' \\n \\", "", "\x1b[31m", "a'1f"]) {
  test(`bash gets exactly ${JSON.stringify(word)}`, () => {
    const { stdout } = spawnSync("bash", ["-c", `${commandLine(["printf", "%s|", word, "end"])}`], { encoding: "utf8" });
    assert.equal(stdout, `${word}|end|`);
  });
}

for (const word of ["echo one; echo two", "it's", "printf 'a\\n'; echo \"$HOME\"", "one\ntwo", "it's here!"]) {
  test(`the terminal shows the command alone, and runs ${JSON.stringify(word)} as it was asked for`, () => {
    const { line, env } = readableLine(["env", "-u", "SECRET", "printf", "--", word]);
    assert.match(line, /^\$north_run /);
    assert.doesNotMatch(line, /SECRET|--/);
    const { stdout } = spawnSync("bash", ["-c", line], { encoding: "utf8", env: { ...process.env, ...env } });
    const { stdout: wanted } = spawnSync("printf", ["--", word], { encoding: "utf8" });
    assert.equal(stdout, wanted);
  });
}

test("the command does not get the terminal's variable, nor what is taken away from it; its exit code is told", () => {
  const { line, env } = readableLine(["env", "-u", "SECRET", "bash", "-c", "echo \"$north_run\"; echo \"[$SECRET]\"; exit 7"]);
  const { stdout, status } = spawnSync("bash", ["-c", line], { encoding: "utf8", env: { ...process.env, SECRET: "s", ...env } });
  assert.equal(stdout, "\n[]\n");
  assert.equal(status, 7);
});

test("what is no plain words is shown as it is", () => {
  assert.deepEqual(readableLine(["ls"]), { line: "'ls'", env: {} });
  assert.deepEqual(readableLine(["env", "-u", "a b", "ls"]), { line: "'env' '-u' 'a b' 'ls'", env: {} });
  assert.deepEqual(readableLine(["bash", "-c", "ls"]), { line: "'bash' '-c' 'ls'", env: {} });
});

test("an exit code is told where there is one", () => {
  assert.deepEqual(exitOf(0), { exitCode: 0, signal: null });
  assert.deepEqual(exitOf(130), { exitCode: 130, signal: null });
  assert.deepEqual(exitOf(undefined), { exitCode: null, signal: null });
  assert.equal(CLOSED.exitCode, null);
});

test("on Windows a command is typed into the shell that it is for, elsewhere quoted for bash", () => {
  const argv = ["C:\\Program Files\\Git\\bin\\bash.exe", "--noprofile", "--norc", "-c", "echo \"it's\""];
  assert.deepEqual(terminalFor(argv, "win32"), { shellPath: argv[0], line: "echo \"it's\"", env: {} });
  assert.deepEqual(terminalFor(["ls"], "linux"), { shellPath: "bash", line: "'ls'", env: {} });
});
