import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.errors import ToolError
from north_lsp.workspace import text as texts
from north_lsp.workspace.proposal import TextEncoding
from north_lsp.workspace.text import (
    NEARLY_UTF8,
    decode,
    dominant_newline,
    encode,
    is_binary,
    is_generated,
    read_text,
    split_lines,
    to_newlines,
)

_BOMS = st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"])


@given(_BOMS, st.binary(max_size=60))
def test_any_bytes_come_back_exactly(bom: bytes, data: bytes) -> None:
    text, form = decode(bom + data)
    assert encode(text, form) == bom + data


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(["utf-8", "utf-16-le", "utf-16-be"]))
def test_any_text_comes_back_exactly(text: str, encoding: str) -> None:
    bom = "\ufeff".encode(encoding)
    assert decode(encode(text, TextEncoding(encoding, bom))) == (text, TextEncoding(encoding, bom))


@pytest.mark.parametrize(
    ("data", "text", "form"),
    [
        (b"", "", TextEncoding()),
        ("ü\r\n".encode(), "ü\r\n", TextEncoding()),
        (b"\xef\xbb\xbfx", "x", TextEncoding("utf-8", b"\xef\xbb\xbf")),
        (b"\xff\xfex\0", "x", TextEncoding("utf-16-le", b"\xff\xfe")),
        (b"\xfe\xff\0x", "x", TextEncoding("utf-16-be", b"\xfe\xff")),
        (b"caf\xe9", "café", TextEncoding("latin-1")),
        (b"\xef\xbb\xbf\xff", "\uf7ff", TextEncoding(NEARLY_UTF8, b"\xef\xbb\xbf")),
        ("äö ".encode() + b"\xe4", "äö \uf7e4", TextEncoding(NEARLY_UTF8)),
        ("\uf7e4ä".encode() + b"\xff", "\uf7ef\uf79f\uf7a4ä\uf7ff", TextEncoding(NEARLY_UTF8)),
        ("ß»".encode("latin-1") + b"\xe4\xf6\xfc", "ß»äöü", TextEncoding("latin-1")),
    ],
)
def test_encodings_are_recognised(data: bytes, text: str, form: TextEncoding) -> None:
    assert decode(data) == (text, form)


def test_a_character_that_cannot_be_written_is_named_with_its_line() -> None:
    with pytest.raises(ToolError, match=r"'€' \(U\+20AC\) in line 3") as caught:
        encode("a\nb\nc€", TextEncoding("latin-1"))
    assert caught.value.code == "INVALID_INPUT"
    with pytest.raises(ToolError, match="line 1"):
        encode("\ud800", TextEncoding())


def test_what_is_added_to_nearly_utf8_is_utf8() -> None:
    text, form = decode("für ".encode() + b"caf\xe9\n")
    assert encode(text.replace("für", "für Ä €"), form) == "für Ä € ".encode() + b"caf\xe9\n"
    with pytest.raises(ToolError, match="line 1"):
        encode("\udce4", form)


@pytest.mark.parametrize(
    ("data", "newline"),
    [(b"a", "none"), (b"", "none"), (b"a\n", "lf"), (b"a\r\nb\r\n", "crlf"), (b"a\r\nb\n", "mixed")],
)
def test_a_file_is_read_with_its_form(tmp_path: Path, data: bytes, newline: str) -> None:
    (tmp_path / "f").write_bytes(data)
    text = read_text(tmp_path / "f")
    assert (text.text, text.newline, text.size) == (data.decode(), newline, len(data))
    assert text.tag == hashlib.sha256(data).hexdigest()[:8]


@pytest.mark.parametrize(
    ("data", "binary"),
    [
        (b"a\0b", True),
        (b"a" * 8191 + b"\0", True),
        (b"a" * 8192 + b"\0", False),
        ("\ufefftext".encode("utf-16-le"), False),
        (("\ufeff" + "a" * 4094 + "😀" * 9).encode("utf-16-be"), False),
        (b"\xff\xfe\0\0a\0\0\0", True),
        (b"\xff\xfea", False),
        (b"\xff\xfea\0b", True),
    ],
)
def test_nul_means_binary_except_in_utf16(data: bytes, binary: bool) -> None:
    assert is_binary(data) is binary


def test_what_cannot_be_read_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MAX_WHOLE_FILE", 100)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("large")
    (tmp_path / "large").write_bytes(b"a" * 101)
    (tmp_path / "fits").write_bytes(b"a" * 100)
    (tmp_path / "image").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    expected = {
        "missing": "NOT_FOUND",
        "fits/below": "NOT_FOUND",
        "pipe": "INVALID_INPUT",
        "link": "INVALID_INPUT",
        ".": "INVALID_INPUT",
        "large": "TOO_LARGE",
        "image": "BINARY_FILE",
    }
    for name, code in expected.items():
        with pytest.raises(ToolError) as caught:
            read_text(tmp_path / name)
        assert caught.value.code == code
    with pytest.raises(ToolError) as caught:
        read_text(tmp_path / "image")
    assert caught.value.details == {"size": 10, "type": "PNG image"}
    with pytest.raises(ToolError, match="device"):
        read_text(Path("/dev/zero"))
    assert read_text(tmp_path / "fits").size == 100


@given(st.text(st.sampled_from("ab\n\r\f\x0b\x1c\x85\u2028\u2029")))
def test_lines_end_only_at_line_feeds(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert all(line.endswith("\n") for line in lines[:-1])
    assert all(line.count("\n") <= 1 and line for line in lines)
    assert len(lines) == text.count("\n") + (not text.endswith("\n") and text != "")


def test_newlines_are_counted_and_converted() -> None:
    assert dominant_newline("a\r\nb\r\nc\n") == "\r\n"
    assert dominant_newline("a\r\nb\n") == "\n"
    assert dominant_newline("") == "\n"
    assert to_newlines("a\r\nb\nc\rd", "\r\n") == "a\r\nb\r\nc\rd"
    assert to_newlines("a\r\nb\nc\rd", "\n") == "a\nb\nc\rd"


@pytest.mark.parametrize(
    ("head", "name", "marker"),
    [
        ("# @generated by x", "a.py", "@generated"),
        ("// Code generated by protoc. DO NOT EDIT.", "a.go", "Code generated by"),
        ("/* AUTO-GENERATED */", "a.c", "AUTO-GENERATED"),
        ("// <auto-generated>", "a.cs", "<auto-generated>"),
        ("# This file was automatically generated", "a", "This file was automatically generated"),
        ("", "uv.lock", "uv.lock"),
        ("", "Cargo.lock", "Cargo.lock"),
        ("please do not edit the @generatedValue", "a.py", None),
        ("\n" * 40 + "DO NOT EDIT", "a.py", None),
        (" " * 1024 + "DO NOT EDIT", "a.py", None),
    ],
)
def test_generated_files_are_known_by_their_marker(head: str, name: str, marker: str | None) -> None:
    assert is_generated(head, name) == marker
