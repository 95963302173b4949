"""How a long file is shown in short."""

from north_lsp.workspace.structure.preview import preview_of


def test_a_long_file_begins_with_its_first_lines_and_has_an_outline() -> None:
    text = "import os\n" + "".join(f"def f{number}():\n    return {number}\n\n" for number in range(60))
    preview, shown = preview_of("a.py", text)
    assert shown == 30
    assert preview.startswith("import os\ndef f0():\n")
    assert "... [151 more lines]\n\nOutline of a.py:\n- def f0() (line 2)\n" in preview
    assert preview.endswith("(line 44)\n... 45 more")
    assert "import" not in preview.partition("Outline")[2]


def test_lines_that_are_too_long_are_cut() -> None:
    preview, shown = preview_of("data.bin.txt", "x" * 100_000)
    assert shown == 0
    assert len(preview) < 2200
    assert "[1 more lines]" in preview
