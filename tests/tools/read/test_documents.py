"""Office documents and PDF files as text."""

import importlib.util
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from north_lsp.errors import ToolError
from north_lsp.workspace.formats.office import read_document
from tests.tools.conftest import Desk

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
T = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"


def made(path: Path, **parts: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name.replace("__", "/") + ".xml", content)
    return path


async def test_words_of_a_text(desk: Desk) -> None:
    body = "<w:p><w:r><w:t>One</w:t><w:tab/><w:t>two</w:t></w:r></w:p><w:p><w:r><w:t>Three</w:t></w:r></w:p>"
    made(desk.root / "a.docx", word__document=f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>')
    assert (await desk.call("read_file", path="a.docx"))["content"] == "1→One\ttwo\n2→Three\n"
    body = "<t:h>Head</t:h><t:p>a <t:span>b</t:span> c</t:p>"
    made(desk.root / "b.odt", content=f'<x xmlns:t="{T}">{body}</x>')
    assert (await desk.call("read_file", path="b.odt"))["content"] == "1→Head\n2→a b c\n"


async def test_slides_and_sheets_come_in_their_order(desk: Desk) -> None:
    slides = {
        f"ppt__slides__slide{at}": f'<s xmlns:a="{A}"><a:p><a:r><a:t>slide {at}</a:t></a:r></a:p></s>'
        for at in (10, 2, 1)
    }
    made(desk.root / "a.pptx", **slides)
    data = await desk.call("read_file", path="a.pptx", lineNumbers=False)
    assert data["content"].split("\n")[1::2] == ["slide 1", "slide 2", "slide 10"]
    row = '<row><c r="A1" t="s"><v>1</v></c><c r="C1"><v>2.5</v></c><c t="inlineStr"><is><t>in</t></is></c></row>'
    made(
        desk.root / "b.xlsx",
        xl__sharedStrings=f'<sst xmlns="{S}"><si><t>x</t></si><si><r><t>na</t></r><r><t>me</t></r></si></sst>',
        xl__worksheets__sheet1=f'<worksheet xmlns="{S}"><sheetData>{row}</sheetData></worksheet>',
    )
    assert (await desk.call("read_file", path="b.xlsx"))["content"] == "1→[sheet 1]\n2→name\t\t2.5\tin\n"


def test_damaged_and_malicious_documents_are_refused(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>'
    for path in (
        made(tmp_path / "1.docx", other="<x/>"),
        made(tmp_path / "2.docx", word__document="<x>"),
        made(tmp_path / "3.odt", content=bomb),
    ):
        with pytest.raises(ToolError) as caught:
            read_document(path)
        assert caught.value.code == "IO_ERROR"
    made(tmp_path / "4.docx", word__document="<x>" + " " * (17 << 20) + "</x>")
    with pytest.raises(ToolError) as caught:
        read_document(tmp_path / "4.docx")
    assert caught.value.code == "TOO_LARGE"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.sampled_from(["docx", "xlsx", "pptx", "odt"]))
def test_any_bytes_are_read_or_refused(tmp_path: Path, data: bytes, ending: str) -> None:
    path = tmp_path / f"any.{ending}"
    path.write_bytes(data)
    with pytest.raises(ToolError):
        read_document(path)


def test_pdf_names_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.4")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name, path: None)
    with pytest.raises(ToolError) as caught:
        read_document(path)
    assert (caught.value.code, "pypdf" in str(caught.value.hint)) == ("UNAVAILABLE", True)
    program = tmp_path / "pdftotext"
    program.write_text("#!/bin/sh\nprintf 'one\\n\\ftwo\\n'\n")
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name, path: str(program))
    assert read_document(path) == "one\n\ntwo\n"
    program.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(ToolError) as caught:
        read_document(path)
    assert caught.value.code == "IO_ERROR"


async def test_rows_of_a_key_without_a_type_and_notebooks_of_any_shape(desk: Desk) -> None:
    with closing(sqlite3.connect(desk.root / "d.sqlite")) as database:
        database.execute("create table t (a primary key, b)")
        database.executemany("insert into t values (?, ?)", [(1, "one"), ("2", "two"), (2.5, "more")])
        database.commit()
    for key, shown in (("1", "one"), ("2", "two"), ("2.5", "more")):
        assert f"b\t{shown}" in (await desk.call("read_file", path=f"d.sqlite:t:{key}"))["content"]
    for key in ("3", "9" * 30, "x", "nan"):
        assert (await desk.error("read_file", path=f"d.sqlite:t:{key}")).code == "NOT_FOUND"
    desk.write({"n.ipynb": '{"cells": [{"cell_type": 5, "source": {"a": 1}, "outputs": 7}, 8, {"outputs": [9]}]}'})
    assert "[1] 5" in (await desk.call("read_file", path="n.ipynb"))["content"]
