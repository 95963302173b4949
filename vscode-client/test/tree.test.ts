import assert from "node:assert/strict";
import { test } from "node:test";

import { whole } from "../src/webview/blocks";
import { targetOf, targetOfCode } from "../src/webview/targets";
import type { Node } from "../src/webview/tree";

/** A tree in one line: `p(a strong(b))`. */
function told(nodes: Node[]): string {
  return nodes
    .map((node) => {
      if (node.kind === "text") return node.text;
      if (node.kind === "math") return node.block ? `formula[${node.text}]` : `math[${node.text}]`;
      if (node.kind === "code") return `code[${node.language}](${node.text})`;
      const inner = told(node.children);
      if (node.kind === "link") return `link[${Object.values(node.target).join(":")}](${inner})`;
      const marks = [node.start, node.align, node.checked].filter((mark) => mark !== undefined).join(" ");
      return `${node.tag}${marks === "" ? "" : `[${marks}]`}(${inner})`;
    })
    .join("");
}

const cases: [string, string, string][] = [
  ["inline marks", "a **b** *c* ~~d~~ `e`", "p(a strong(b) em(c) s(d) code(e))"],
  ["a tight list has no paragraphs", "- a\n- b", "ul(li(a)li(b))"],
  ["a loose list has", "- a\n\n- b", "ul(li(p(a))li(p(b)))"],
  ["a list begins where it says", "3. a", "ol[3](li(a))"],
  ["boxes", "- [ ] a\n- [x] b\n- [y] c", "ul(li[false](a)li[true](b)li([y] c))"],
  ["a table's columns are aligned", "|a|b|\n|:-|-:|\n|c|d|", "table(thead(tr(th[left](a)th[right](b)))tbody(tr(td[left](c)td[right](d))))"],
  ["code with its language", "```py x.py\nprint()\n```", "code[py](print())"],
  ["HTML stays text", "a <b onclick=x>c</b>\n\n<script>d</script>", "p(a <b onclick=x>c</b>)p(<script>d</script>)"],
  ["a picture is not loaded, its words lead to it", "![cat](https://e.org/c.png)", "p(link[https://e.org/c.png](cat))"],
  ["a picture without words", "![](https://e.org/c.png)", "p(link[https://e.org/c.png](https://e.org/c.png))"],
  ["a plain address is a link", "see https://e.org/a?b=c.", "p(see link[https://e.org/a?b=c](https://e.org/a?b=c).)"],
  ["other schemes stay text", "[a](javascript:alert(1)) [b](command:x) [c](vscode://d)", "p([a](javascript:alert(1)) [b](command:x) [c](vscode://d))"],
  ["no mail address, no bare domain, no scheme-less address", "a@b.org e.org //e.org ftp://e.org", "p(a@b.org e.org //e.org ftp://e.org)"],
  ["a link to a file", "[g](hello/greeting.py#L9)", "p(link[hello/greeting.py:9](g))"],
  ["a path with a line in code", "`a/b.ts:12`", "p(link[a/b.ts:12](code(a/b.ts:12)))"],
  ["code in a link is no second link", "[`a/b.ts:1`](c.ts)", "p(link[c.ts](code(a/b.ts:1)))"],
  ["a formula", "so $E = mc^2$ and \\(a_1\\), $$x$$ in a line", "p(so math[E = mc^2] and math[a_1], math[x] in a line)"],
  ["a formula that stands by itself", "so\n$$\n\\sum_{i=1}^n i\n- 1\n$$\nand\n\\[ y \\]", "p(so)formula[\\sum_{i=1}^n i\n- 1]p(and)formula[y]"],
  ["a formula ends with its block", "$$ a\n\nb", "formula[a]p(b)"],
  ["money and variables are no formulas", "$5 and $10, $HOME/$USER, a$b$c, `$x$`, \\$a$", "p($5 and $10, $HOME/$USER, a$b$c, code($x$), $a$)"],
  ["a definition stays text", "[a]: https://e.org", "p([a]: link[https://e.org](https://e.org))"],
];
for (const [name, text, expected] of cases) test(name, () => assert.equal(told(whole(text)), expected));

test("where links lead", () => {
  assert.deepEqual(targetOf("https://e.org"), { address: "https://e.org" });
  assert.deepEqual(targetOf("file:///a/b%20c.py#L3-L9"), { path: "/a/b c.py", line: 3 });
  assert.deepEqual(targetOf("C:\\a.py:3"), { path: "C:\\a.py", line: 3 });
  assert.deepEqual(targetOf("a.py:3:7"), { path: "a.py", line: 3 });
  assert.deepEqual(targetOf("README.md#install"), { path: "README.md" });
  for (const none of ["", "#install", "mailto:a@b", "data:text/html,x", "//e.org/x", "file://host/share", "javascript:1", "a%E2%80%AEb.py", "a%0Ab.py"]) {
    assert.equal(targetOf(none), undefined, none);
  }
});

test("what is a place when it stands in code", () => {
  assert.deepEqual(targetOfCode("src/a.ts"), { path: "src/a.ts" });
  assert.deepEqual(targetOfCode("a.py:3-9"), { path: "a.py", line: 3 });
  assert.deepEqual(targetOfCode("a.py#L3-L9"), { path: "a.py", line: 3 });
  for (const none of ["os.path", "a.py", "1.5/2.0", "x = a/b.py:1", "and/or", "https://e.org/a.py"]) {
    assert.equal(targetOfCode(none), undefined, none);
  }
});
