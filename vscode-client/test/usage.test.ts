import assert from "node:assert/strict";
import { test } from "node:test";

import { usageRows, usageText } from "../src/chat/usage";

const usd = (amount: number) => ({ amount, currency: "USD" });

test("beside the buttons stand how full the context is and what it has cost", () => {
  assert.equal(usageText({ used: 2_400, size: 200_000 }), "1 %");
  assert.equal(usageText({ used: 50_000, size: 200_000, cost: usd(0.0094) }), "25 % · $0.009");
  assert.equal(usageText({ used: 0, size: 0, cost: usd(12.345) }), "$12.35");
  assert.equal(usageText({ used: 0, size: 0, cost: usd(0.0001) }), "<$0.001");
  assert.equal(usageText({ used: 0, size: 100, cost: { amount: 2, currency: "EUR" } }), "0 % · 2.00 EUR");
});

test("the rows tell all that is known", () => {
  const north = { input: 1_000, output: 200, cacheRead: 3_000, cacheWrite: 0, tokens: 4_200, allTimeCostUsd: 3.5, priced: true };
  assert.deepEqual(usageRows({ used: 4_200, size: 200_000, cost: usd(0.02), _meta: { north } }), [
    ["Context", "4,200 of 200,000 tokens"],
    ["Input", "1,000"],
    ["Output", "200"],
    ["Read from the cache", "3,000"],
    ["Written to the cache", "0"],
    ["All tokens", "4,200"],
    ["Cost", "$0.020"],
    ["All conversations", "$3.50"],
  ]);
});

test("a price that nobody knows and a guessed count are said", () => {
  const rows = new Map(usageRows({ used: 1, size: 100, cost: usd(0), _meta: { north: { priced: false, estimated: true } } }));
  assert.equal(rows.get("Cost"), "$0.00 and what has no known price");
  assert.equal(rows.get("Counted by"), "North: the provider gave no numbers");
});
