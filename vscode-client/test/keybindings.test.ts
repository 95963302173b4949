import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

interface Manifest {
  contributes: { keybindings: { command: string; key: string; mac?: string; when?: string }[]; commands: { command: string }[] };
}

const { contributes }: Manifest = JSON.parse(readFileSync("package.json", "utf8"));

test("no key writes a character: AltGr is Ctrl+Alt on many layouts, and so is Alt on a Mac", () => {
  for (const { command, key, mac } of contributes.keybindings) {
    for (const stroke of key.split(" ")) assert.doesNotMatch(stroke, /^(?=.*ctrl\+)(?=.*alt\+)(?:\w+\+)*[^f+]$/, `${command}: ${key}`);
    for (const stroke of (mac ?? key).split(" ")) assert.doesNotMatch(stroke, /^(?:shift\+)?alt\+(?:shift\+)?[^+]$/, `${command}: ${mac ?? key}`);
  }
});

test("what is done all the time has a key", () => {
  const keyed = new Set(contributes.keybindings.map(({ command }) => command));
  const wanted = ["showChat", "attachShown", "inlineChat", "stop", "acceptHunk", "rejectHunk", "nextHunk", "previousHunk"];
  for (const name of wanted) assert.ok(keyed.has(`north.${name}`), name);
});

test("a key means one thing at a time: two commands have the same one only where they cannot be meant together", () => {
  const used = new Map<string, string>();
  for (const { command, key, when = "" } of contributes.keybindings) {
    const place = `${key} ${when}`;
    assert.equal(used.get(place), undefined, `${command}: ${place}`);
    used.set(place, command);
  }
});

test("every key has a command that is there", () => {
  const known = new Set(contributes.commands.map(({ command }) => command));
  for (const { command } of contributes.keybindings) if (command.startsWith("north.")) assert.ok(known.has(command), command);
});
