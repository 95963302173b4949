import assert from "node:assert/strict";
import { test } from "node:test";

import { sizeOf } from "../src/common/sizes";

test("sizes are said in the unit that fits", () => {
  const cases: [number, string][] = [
    [0, "0 bytes"],
    [999, "999 bytes"],
    [1000, "1.0 KB"],
    [12_345, "12 KB"],
    [70_000_000, "70 MB"],
    [3_400_000_000, "3.4 GB"],
    [5e15, "5,000 TB"],
  ];
  for (const [bytes, shown] of cases) assert.equal(sizeOf(bytes, "en"), shown);
});
