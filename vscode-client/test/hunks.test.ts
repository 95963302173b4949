import assert from "node:assert/strict";
import { test } from "node:test";

import type { Hunk } from "../src/acp";
import { FileReview } from "../src/review/hunks";

const lines = (...all: string[]): string => all.map((line) => `${line}\n`).join("");
const hunk = (id: string, oldStart: number, oldLines: number, newStart: number, newLines: number): Hunk => ({ id, oldStart, oldLines, newStart, newLines });

/** Two lines that are replaced, with a line of context on both sides. */
const OLD = lines("one", "old", "two", "three", "four", "gone", "five");
const NEW = lines("one", "new", "two", "three", "four", "come", "more", "five");
const review = (): FileReview => new FileReview(OLD, NEW, [hunk("h1", 1, 3, 1, 3), hunk("h2", 5, 3, 5, 4)]);
const standings = (text: string): string[] => review().places(text).map((place) => place.standing);

test("a text as it was proposed has all hunks", () => {
  assert.deepEqual(standings(NEW), ["proposed", "proposed"]);
  assert.deepEqual(review().standing(NEW), ["h1", "h2"]);
});

test("old lines in the place of a hunk reject it, whoever put them there", () => {
  const text = NEW.replace("new", "old");
  assert.deepEqual(standings(text), ["rejected", "proposed"]);
  assert.deepEqual(review().standing(text), ["h2"]);
});

test("other lines in the place of a hunk are the user's", () => {
  const text = NEW.replace("come", "typed");
  assert.deepEqual(standings(text), ["proposed", "changed"]);
  assert.equal(review().standing(text), undefined);
});

test("what is typed outside of the hunks is the user's text as well", () => {
  assert.equal(review().standing(`${NEW}typed\n`), undefined);
});

test("a hunk is found after lines were added before it", () => {
  const text = NEW.replace("three\n", "three\ntyped\ntyped\n");
  const [, second] = review().places(text);
  assert.deepEqual([second?.standing, second?.start, second?.end], ["proposed", 6, 10]);
});

test("the first changed line and the last one are known apart from the lines around them", () => {
  assert.deepEqual(
    review()
      .places(NEW)
      .map(({ lead, trail }) => [lead, trail]),
    [
      [1, 1],
      [1, 1],
    ],
  );
});

test("line ends that the editor has made alike are no change", () => {
  assert.deepEqual(standings(NEW.replaceAll("\n", "\r\n")), ["proposed", "proposed"]);
});

test("a tick decides a hunk, and a rejected one is decided by its text", () => {
  const file = review();
  const [first] = file.places(NEW);
  assert.ok(first);
  file.tick(first.hunk);
  assert.deepEqual(file.undecided(NEW).map((place) => place.hunk.id), ["h2"]);
  assert.deepEqual(file.undecided(NEW.replace("come\nmore", "gone")), []);
  file.untick(first.hunk);
  assert.equal(file.undecided(NEW).length, 2);
});

test("the hunk at a line, else the nearest one that is undecided", () => {
  const file = review();
  assert.equal(file.at(NEW, 1, "after")?.hunk.id, "h1");
  assert.equal(file.at(NEW, 6, "after")?.hunk.id, "h2");
  assert.equal(file.at(NEW.replace("new", "old"), 0, "after")?.hunk.id, "h2");
});

test("added and removed lines are counted", () => {
  assert.deepEqual(review().changedLines(NEW), { added: 3, removed: 2 });
  assert.deepEqual(review().changedLines(OLD), { added: 0, removed: 0 });
  assert.deepEqual(new FileReview("", "a\nb", []).changedLines("a\nb"), { added: 2, removed: 0 });
});

test("a new file's only hunk, and a deleted file's", () => {
  const made = new FileReview("", "a\n", [hunk("h1", 0, 0, 1, 1)]);
  assert.deepEqual(made.standing("a\n"), ["h1"]);
  assert.ok(made.isOld(""));
  const gone = new FileReview("a\n", "", [hunk("h1", 1, 1, 0, 0)]);
  assert.deepEqual(gone.standing(""), ["h1"]);
  assert.deepEqual(gone.standing("a\n"), []);
  assert.equal(gone.standing("b\n"), undefined);
});
