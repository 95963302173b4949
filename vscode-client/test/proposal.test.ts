import assert from "node:assert/strict";
import { test } from "node:test";

import type { ChangedFile, Diff } from "../src/acp";
import { splitLines } from "../src/review/hunks";
import { Proposal, type ProposedFile, proposedFiles, type Texts } from "../src/review/proposal";

const lines = (...all: string[]): string => all.map((line) => `${line}\n`).join("");
const OLD = lines("one", "a", "two", "three", "b", "four");
const NEW = lines("one", "A", "two", "three", "B", "four");

function world(): { proposal: Proposal; texts: Map<string, string>; file(path: string): ProposedFile } {
  const told: ChangedFile[] = [
    {
      path: "/p/two.py",
      kind: "update",
      hunks: [
        { id: "h1", oldStart: 1, oldLines: 3, newStart: 1, newLines: 3 },
        { id: "h2", oldStart: 4, oldLines: 3, newStart: 4, newLines: 3 },
      ],
    },
    { path: "/p/made.py", kind: "create", hunks: [{ id: "h1", oldStart: 0, oldLines: 0, newStart: 1, newLines: 1 }] },
    { path: "/p/gone.py", kind: "delete", hunks: [{ id: "h1", oldStart: 1, oldLines: 1, newStart: 0, newLines: 0 }] },
    { path: "/p/moved.py", kind: "rename", oldPath: "/p/old.py", hunks: [] },
    { path: "/p/picture.png", kind: "update", hunks: [] },
  ];
  const diffs: Diff[] = [
    { type: "diff", path: "/p/two.py", oldText: OLD, newText: NEW },
    { type: "diff", path: "/p/made.py", oldText: null, newText: "made\n" },
    { type: "diff", path: "/p/gone.py", oldText: "gone\n", newText: "" },
    { type: "diff", path: "/p/moved.py", oldText: "same\n", newText: "same\n" },
  ];
  const texts = new Map(diffs.map((diff) => [diff.path, diff.newText]));
  const store: Texts = {
    read: (path) => texts.get(path) ?? "",
    replace: async (path, start, end, text) => {
      const all = splitLines(texts.get(path) ?? "");
      all.splice(start, end - start, text);
      texts.set(path, all.join(""));
      return true;
    },
  };
  const proposal = new Proposal(proposedFiles(diffs, new Map(told.map((one) => [one.path, one])), store));
  const file = (path: string): ProposedFile => {
    const found = proposal.files.find((one) => one.path === `/p/${path}`);
    assert.ok(found);
    return found;
  };
  return { proposal, texts, file };
}

test("an untouched proposal stands whole, and all of it is open", () => {
  const { proposal } = world();
  assert.deepEqual(proposal.answer(), { what: "all" });
  assert.equal(proposal.open().length, 6);
});

test("one accepted file leaves the others open", () => {
  const { proposal, file } = world();
  file("two.py").accept();
  assert.equal(file("two.py").verdict, "accepted");
  assert.deepEqual(
    proposal.open().map((stop) => stop.file.path),
    ["/p/made.py", "/p/gone.py", "/p/moved.py", "/p/picture.png"],
  );
});

test("rejected files are not named in the answer", async () => {
  const { proposal, file, texts } = world();
  for (const name of ["made.py", "gone.py", "moved.py", "picture.png"]) assert.ok(await file(name).reject());
  assert.equal(texts.get("/p/made.py"), "");
  assert.equal(texts.get("/p/gone.py"), "gone\n");
  assert.equal(file("gone.py").verdict, "rejected");
  const answer = proposal.answer();
  assert.ok(answer.what === "parts");
  assert.deepEqual(answer.parts, { hunks: { "/p/two.py": ["h1", "h2"] }, texts: {} });
  assert.deepEqual(answer.summary, { standing: 2, proposed: 6, typed: 0 });
});

test("a rejected hunk is the old text, and comes back", async () => {
  const { proposal, file, texts } = world();
  const two = file("two.py");
  const place = two.placeOf("h1");
  assert.ok(place);
  assert.ok(await two.rejectHunk(place));
  assert.equal(texts.get("/p/two.py"), NEW.replace("A", "a"));
  two.accept();
  assert.equal(two.verdict, "partly");
  const answer = proposal.answer();
  assert.ok(answer.what === "parts");
  assert.deepEqual(answer.parts.hunks?.["/p/two.py"], ["h2"]);
  const rejected = two.placeOf("h1");
  assert.ok(rejected);
  await two.reopenHunk(rejected);
  assert.equal(texts.get("/p/two.py"), NEW);
  assert.equal(two.verdict, "open");
});

test("a mark never says something else than the text", async () => {
  const { file, texts } = world();
  const two = file("two.py");
  await two.reject();
  assert.equal(two.verdict, "rejected");
  texts.set("/p/two.py", NEW); // undone in the editor
  assert.equal(two.verdict, "open");
});

test("typed words are sent as the file's text", () => {
  const { proposal, texts } = world();
  texts.set("/p/two.py", NEW.replace("A", "typed"));
  const answer = proposal.answer();
  assert.ok(answer.what === "parts");
  assert.deepEqual(answer.parts.texts, { "/p/two.py": NEW.replace("A", "typed") });
  assert.equal(answer.summary.typed, 1);
});

test("a file that goes cannot hold a text", () => {
  const { proposal, texts, file } = world();
  texts.set("/p/gone.py", "typed\n");
  assert.deepEqual(proposal.answer(), { what: "impossible", file: file("gone.py") });
});

test("rejecting the rest keeps what was ticked", async () => {
  const { proposal, file } = world();
  assert.ok(!proposal.anythingTicked);
  const two = file("two.py");
  const first = two.placeOf("h1");
  assert.ok(first);
  two.acceptHunk(first.hunk);
  file("picture.png").accept();
  assert.ok(proposal.anythingTicked);
  await proposal.rejectRest();
  assert.deepEqual(proposal.open(), []);
  const answer = proposal.answer();
  assert.ok(answer.what === "parts");
  assert.deepEqual(answer.parts, { hunks: { "/p/two.py": ["h1"], "/p/picture.png": [] }, texts: {} });
});

test("everything rejected is nothing", async () => {
  const { proposal } = world();
  await proposal.rejectRest();
  assert.deepEqual(proposal.answer(), { what: "nothing" });
});

test("a file is decided again", async () => {
  const { file, texts } = world();
  for (const name of ["two.py", "moved.py"]) {
    await file(name).reject();
    await file(name).reopen();
    assert.equal(file(name).verdict, "open");
  }
  assert.equal(texts.get("/p/two.py"), NEW);
});

test("the next open place is behind the cursor, then in the next file, then at the start", async () => {
  const { proposal, file } = world();
  const two = file("two.py");
  const where = (stop: ReturnType<Proposal["next"]>): unknown[] => [stop?.file.path, stop?.place?.hunk.id];
  assert.deepEqual(where(proposal.next(two, 0)), ["/p/two.py", "h2"]);
  assert.deepEqual(where(proposal.next(two, 3)), ["/p/made.py", "h1"]);
  assert.deepEqual(where(proposal.next(two, Infinity)), ["/p/made.py", "h1"]);
  assert.deepEqual(where(proposal.next(file("picture.png"), 0)), ["/p/two.py", "h1"]);
  assert.deepEqual(where(proposal.next(file("made.py"), 0, -1)), ["/p/two.py", "h2"]);
  assert.deepEqual(where(proposal.next(two, 0, -1)), ["/p/picture.png", undefined]);
  two.accept();
  assert.deepEqual(where(proposal.next(file("picture.png"), 0)), ["/p/made.py", "h1"]);
});
