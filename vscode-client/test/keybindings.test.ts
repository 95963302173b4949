import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

interface Manifest {
  contributes: { keybindings: { command: string; key: string; mac?: string; when?: string }[]; commands: { command: string }[] };
}

const { contributes }: Manifest = JSON.parse(readFileSync("package.json", "utf8"));

/** Letters, digits, signs and the space bar may write a character; named keys do not. */
function writesWithAltGr(stroke: string): boolean {
  const [key = "", ...modifiers] = stroke.toLowerCase().split("+").reverse();
  return modifiers.includes("ctrl") && modifiers.includes("alt") && !/^(f\d+|up|down|left|right|home|end|pageup|pagedown|enter|escape|tab|delete|insert)$/.test(key);
}

test("which keys AltGr writes with", () => {
  for (const stroke of ["ctrl+alt+f", "alt+ctrl+e", "ctrl+shift+alt+7", "ctrl+alt+space", "ctrl+alt+[KeyQ]", "ctrl+alt+oem_4"]) assert.ok(writesWithAltGr(stroke), stroke);
  for (const stroke of ["ctrl+alt+f3", "ctrl+alt+enter", "ctrl+k", "alt+q", "ctrl+shift+e"]) assert.ok(!writesWithAltGr(stroke), stroke);
});

test("no key writes a character: AltGr is Ctrl+Alt on many layouts, and so is Alt on a Mac", () => {
  for (const { command, key, mac } of contributes.keybindings) {
    for (const stroke of key.split(" ")) assert.ok(!writesWithAltGr(stroke), `${command}: ${key}`);
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
