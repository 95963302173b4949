"""What a server answers neither holds the server up nor grows out of bounds."""

import json
import threading

import pytest

from north_lsp.web import documents
from north_lsp.web.client import Answer
from north_lsp.web.documents import document, first_line

DEEP = "[" * 100 + "]" * 100


def answered(data: str | bytes, kind: str = "text/html", status: int = 200) -> Answer:
    return Answer(status, "", kind, data.encode() if isinstance(data, str) else data)


async def read(data: str | bytes, kind: str) -> str:
    return (await document(answered(data, kind), "https://example.com/", raw=False)).text


@pytest.mark.parametrize("name", ["punycode", "idna", "unicode_escape", "utf-7", "rot13", "zip", "hex", "x.y", "mbcs"])
async def test_what_is_no_encoding_of_the_web_is_not_used(name: str) -> None:
    assert await read("b\u00fc-cher+AGE-\\u0061", f"text/plain; charset={name}") == "b\u00fc-cher+AGE-\\u0061"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ISO-8859-1", "\u00fc"), ("latin1", "\u00fc"), ("windows-1252", "\u20ac"), ("Shift_JIS", "\u65e5"),
        ("gb2312", "\u4e2d"), ("koi8-r", "\u0436"), ("EUC-KR", "\ud55c"), ("utf-16le", "\u00fc"), ("big5", "\u4e2d"),
    ],
)  # fmt: skip
async def test_encodings_of_the_web_are_read(name: str, text: str) -> None:
    assert await read(text.encode(name), f'text/plain; charset="{name}"') == text


async def test_long_text_is_read_on_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def visible(text: str) -> str:
        threads.append(threading.get_ident())
        return text

    monkeypatch.setattr(documents, "visible", visible)
    for size in (10, 1_000_000):
        assert len(await read(b"x" * size, "text/plain")) == size
    assert [one == threading.get_ident() for one in threads] == [True, False]


@pytest.mark.parametrize("text", [DEEP, '{"a":' * 60 + "1" + "}" * 60, json.dumps(["a"] * 100_000), "[" * 100_000])
async def test_json_that_is_deep_or_long_stays_as_it_is(text: str) -> None:
    assert await read(text, "application/json") == text


async def test_json_is_laid_out() -> None:
    assert await read('{"a":[1]}', "application/json") == '{\n  "a": [\n    1\n  ]\n}'


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("<script>a < b" * 20_000, ""),
        ("<style>p {}</style><p>Gone</p><script>x()", "Gone"),
        ("<" * 60_000 + "b>Gone", "<" * 199 + "\u2026"),
        ("<title>Fishing</title><script>", "Fishing"),
        ("\n" * 5_000 + "late", ""),
    ],
)
def test_an_answer_that_refuses_is_looked_at_once(data: str, said: str) -> None:
    assert first_line(answered(data, status=500)) == said
