from tests.tools.conftest import Desk

PAGE = "<html><body><section id='a'><p>hi</p></section><script>\nfunction f() {}\n</script></body></html>\n"


async def test_symbols(desk: Desk) -> None:
    desk.write({"a.py": "class A:\n    def f(self, x):\n        return x\n", "p.html": PAGE, "n.txt": "x\n"})
    data = await desk.call("get_file_symbols", path="a.py")
    assert data["symbols"] == [
        {"name": "A", "type": "class", "line": 1, "endLine": 3, "signature": "class A"},
        {"name": "f", "type": "method", "line": 2, "endLine": 3, "signature": "def f(self, x)", "parent": "A"},
    ]
    assert data["meta"] == {"backend": "tree-sitter", "source": "disk"}
    assert (await desk.call("get_file_symbols", path="p.html"))["hint"].startswith("use find_blocks")
    data = await desk.call("get_file_symbols", path="n.txt")
    assert (data["symbols"], "get_file_outline" in data["hint"], data["meta"]["backend"]) == ([], True, "none")


async def test_structure_is_that_of_the_unsaved_text(desk: Desk) -> None:
    desk.write({"a.py": "def old(): pass\n"})
    desk.unsaved[desk.root / "a.py"] = "def new(: pass\n"
    data = await desk.call("get_file_symbols", path="a.py")
    assert [symbol["name"] for symbol in data["symbols"]] == ["new"]
    assert data["meta"]["source"] == "editor"
    assert "the parser failed" in data["meta"]["notices"][0]


async def test_outline_and_blocks(desk: Desk) -> None:
    desk.write({"p.html": PAGE, "t.txt": "one\n" * 60})
    data = await desk.call("get_file_outline", path="p.html")
    assert "└─ function f()" in data["outline"]
    assert len((await desk.call("get_file_outline", path="t.txt"))["entries"]) == 2
    data = await desk.call("find_blocks", path="p.html", kind="js_ts_symbol")
    assert [block["id"] for block in data["blocks"]] == ["script0-js-0"]
    data = await desk.call("find_blocks", path="p.html", kind="php_symbol")
    assert (data["blocks"], "does not fit" in data["meta"]["notices"][0]) == ([], True)


async def test_code_blocks(desk: Desk) -> None:
    desk.write({"a.py": "x = 1\n\ndef f():\n    return 'needle'\n", "p.html": PAGE})
    data = await desk.call("find_code_block", path="a.py", query="needle")
    assert data["matches"] == [
        {"startLine": 3, "endLine": 4, "snippet": "def f():\n    return 'needle'", "kind": "function", "name": "f"}
    ]
    assert "find_blocks" in (await desk.call("find_code_block", path="a.py", query="x = 1"))["hint"]
    assert (await desk.error("find_code_block", path="a.py", query="absent")).code == "NO_MATCH"


async def test_code_is_found_by_its_shape(desk: Desk) -> None:
    desk.write(
        {
            "a.py": "print(1,\n      2)\nif x == x:\n    pass\nif x == y: pass\nprint()\n",
            "b.ts": "console.log(f(1));\nlet a = b ? c : b;\n",
            "d/c.rs": "fn main() { let x = foo(1); x.unwrap(); }\n",
            "d/e.java": "class C { void f() { go(1, 2); } }\n",
            ".gitignore": "out\n",
            "out/x.py": "print(9)\n",
        }
    )
    output = await desk.output("ast_search", pat="print($$$ARGS)", paths=["."])
    text = str(output.text)
    assert text.startswith(
        "a.py\n*1|print(1,\n 2|      2)\nmeta: ARGS=1, 2\n*6|print()\nmeta: ARGS=\n2 matches in 1 files"
    )
    assert "out/x.py" not in text
    for pat, paths, expected in (
        ("$A == $A", ["a.py"], "*3|if x == x:\nmeta: A=x\n1 matches"),
        ("console.log($X)", ["*.ts"], "*1|console.log(f(1));\nmeta: X=f(1)\n1 matches"),
        ("$A ? $_ : $A", ["**/*.ts"], "*2|let a = b ? c : b;\nmeta: A=b\n1 matches"),
        ("$X.unwrap()", ["d"], "meta: X=x\n1 matches"),
        ("go($A, $B)", ["d/e.java"], "meta: A=1, B=2\n1 matches"),
    ):
        assert expected in str((await desk.output("ast_search", pat=pat, paths=paths)).text)
    text = str((await desk.output("ast_search", pat="print($$$)", paths=["a.py"], limit=1)).text)
    assert "result limit reached" in text
    text = str((await desk.output("ast_search", pat="print($$$)", paths=["a.py"], skip=1)).text)
    assert "*6|print()" in text
    assert "*1|" not in text


async def test_bad_patterns_are_refused(desk: Desk) -> None:
    desk.write({"a.py": "x\n"})
    for pat in ("print(", "a; b = 1; c", "   "):
        error = await desk.error("ast_search", pat=pat, paths=["a.py"], lang="py")
        assert error.code == "INVALID_INPUT"
        assert "$$$ARGS" in str(error.hint)
    assert (await desk.error("ast_search", pat="x", paths=["a.py"], lang="kotlin")).code == "UNAVAILABLE"
    assert (await desk.error("ast_search", pat="x", paths=["../x"])).code == "OUTSIDE_WORKSPACE"
    assert (await desk.error("ast_search", pat="x", paths=["gone"])).code == "NOT_FOUND"
