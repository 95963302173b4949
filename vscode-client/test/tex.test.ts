import assert from "node:assert/strict";
import { test } from "node:test";

import { type MathNode, mathOf } from "../src/webview/tex";

/** As short text: `mfrac(a b)`. */
function shown(node: MathNode): string {
  if (node.text !== undefined) return node.text;
  const inside = (node.children ?? []).map(shown).join(" ");
  return node.tag === "mrow" ? (node.children?.length === 1 ? inside : `[${inside}]`) : `${node.tag}(${inside})`;
}
const of = (tex: string, block = true): string => {
  const found = mathOf(tex, block);
  return found === undefined ? "?" : shown(found.children?.[0] ?? found);
};

test("fractions, roots, powers and indices", () => {
  assert.equal(of("\\frac{a+1}{b}"), "mfrac([a + 1] b)");
  assert.equal(of("\\sqrt{x}"), "msqrt(x)");
  assert.equal(of("\\sqrt[3]{x}"), "mroot(x 3)");
  assert.equal(of("x_i^2"), "msubsup(x i 2)");
  assert.equal(of("x^{n-1}"), "msup(x [n − 1])");
  assert.equal(of("f''(x)"), "[msup(f ′′) ( x )]");
  assert.equal(of("2.5\\alpha"), "[2.5 α]");
});

test("sums have their limits above and below where they stand alone, and beside them in a line", () => {
  assert.equal(of("\\sum_{i=1}^{n} i"), "[munderover(∑ [i = 1] n) i]");
  assert.equal(of("\\sum_{i=1}^{n} i", false), "[msubsup(∑ [i = 1] n) i]");
  assert.equal(of("\\int_0^1 x\\,dx"), "[msubsup(∫ 0 1) x mspace() d x]");
  assert.equal(of("\\lim_{n \\to \\infty} a_n"), "[munder(lim [n → ∞]) msub(a n)]");
});

test("fences, matrices and cases", () => {
  assert.equal(of("\\left(\\frac{1}{2}\\right]"), "[( mfrac(1 2) ]]");
  assert.equal(of("\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}"), "[( mtable(mtr(mtd(a) mtd(b)) mtr(mtd(c) mtd(d))) )]");
  assert.equal(of("\\begin{cases} 1 & x > 0 \\\\ 0 \\end{cases}"), "[{ mtable(mtr(mtd(1) mtd(x > 0)) mtr(mtd(0)))]");
  assert.equal(of("a &= b \\\\ &= c"), "mtable(mtr(mtd(a) mtd(= b)) mtr(mtd() mtd(= c)))");
});

test("only what \\left and \\right name grows with what stands in it", () => {
  const signs = (tex: string): (string | undefined)[] => {
    const found: (string | undefined)[] = [];
    const look = ({ text, attributes, children = [] }: MathNode): void => {
      if (text === "(") found.push(attributes?.stretchy);
      children.forEach(look);
    };
    look(mathOf(tex, true) ?? { tag: "" });
    return found;
  };
  assert.deepEqual(signs("f(x)"), ["false"]);
  assert.deepEqual(signs("\\left(x\\right)"), ["true"]);
});

test("words, alphabets and accents", () => {
  assert.equal(of("x \\text{ if even}, \\mathbb{R}, \\mathbf{v}, \\hat{y}"), "[x  if even , ℝ , 𝐯 , mover(y ^)]");
  assert.equal(of("\\operatorname{rank} A"), "[rank A]");
  assert.equal(of("O(n \\log n)"), "[O ( n log mspace() n )]");
});

test("what is not understood is shown as it is written, and never costs more than its length", () => {
  for (const tex of ["\\unknown{x}", "\\frac{a}", "{a", "a}", "x^", "\\left( a", "\\begin{tikzpicture}\\end{tikzpicture}", "\\begin{matrix} a", "a^b^c", "\\href{javascript:alert(1)}{x}", "{".repeat(100) + "}".repeat(100), "x".repeat(5_000)]) {
    assert.equal(mathOf(tex, true), undefined, tex.slice(0, 40));
  }
});
