"""Exports of any conversation: every form can be made, and the page is safe whatever stands in the log."""

import base64
import hashlib
import json
import re
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from north_lsp.agent.exports.export import FORMATS, default_name, format_for, render, source_of
from north_lsp.agent.exports.masking import mask_for
from north_lsp.agent.exports.prose import inline, to_html
from north_lsp.agent.log.agent_calls import agent_began
from north_lsp.agent.log.log import Log
from north_lsp.errors import ToolError
from north_lsp.storage.blobs import Blobs
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.masking import MASK
from north_lsp.storage.masking import masked as masked_in_logs
from north_lsp.tools.builtin import builtin_tools
from tests.agent.log.test_foreign_logs import LOG, ODD, changed
from tests.agent.log.test_golden import GOLDEN, NAMES
from tests.storage.test_old_formats import FLAT, TREE
from tests.support.exported_page import Page
from tests.support.png import png

TOOLS = builtin_tools()
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=http://evil.test/x onerror=alert(1)>',
    "</pre></details></style></title><iframe src='//evil.test'>",
    "![x](http://evil.test/x.png) [y](javascript:alert(1)) [z](data:text/html,x) <http://evil.test>",
    "[a](http://ok.test/\"onmouseover=alert(1)) http://ok.test/'><b>",
    "```\n</code></pre><script>\n```\n| <b> | x |\n| --- | --- |\n| ![](//evil.test) | </td> |",
    "- <a href=x>\n  - </li></ul>\n> <base href=//evil.test>\n# <h1>\n**<b>** `<i>` ~~<u>~~ _<s>_ \\<x>",
    "&lt;b&gt; &#x3C;script&#x3E; &amp;",
    "a\u202eb\u200bc\x1b[31m\x00d\ud800\U000e0041",
    "` ``` ~~~ ** __ [[[ ](( \\",
    "",
]
TEXT = st.sampled_from(HOSTILE)
AT = "2026-01-01T00:00:00.000Z"


def stored(folder: Path, log: list[Any] | bytes) -> Log:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "a1b2c3.jsonl"
    data = log if isinstance(log, bytes) else "".join(json.dumps(line) + "\n" for line in log).encode()
    path.write_bytes(data)
    return Log(Conversation.look_at(path))


def exported(log: Log, format: Any, blobs: Path = Path("/nowhere"), mask: Any = None) -> str:
    return render(source_of(log, Blobs(blobs)), TOOLS, format, mask)


def page_of(log: Log) -> Page:
    return Page(exported(log, "html"))


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_conversation_can_be_exported(tmp_path: Path, name: str) -> None:
    log = stored(tmp_path, (GOLDEN / f"{name}.jsonl").read_bytes())
    page = page_of(log)
    assert page.problems == []
    prompts = [line for line in json.loads(exported(log, "json"))["rows"] if line["kind"] == "prompt"]
    assert prompts
    for format in FORMATS:
        text = exported(log, format)
        text = page.text if format == "html" else text
        for prompt in prompts:
            first = prompt["text"].split("\n")[0]
            assert first in text or json.dumps(first)[1:-1] in text


@pytest.mark.parametrize("log", [LOG, FLAT, TREE], ids=["today", "flat", "tree"])
@settings(max_examples=150)
@given(changes=st.lists(st.tuples(st.integers(0, 500), st.one_of(ODD, TEXT)), min_size=1, max_size=5))
def test_any_log_is_exported_as_a_safe_page(
    tmp_path_factory: pytest.TempPathFactory, log: list[dict[str, Any]], changes: list[tuple[int, Any]]
) -> None:
    found = stored(tmp_path_factory.getbasetemp() / "exports", changed(log, changes))
    for format in FORMATS:
        try:
            text = exported(found, format, mask=mask_for(["a secret of mine"], "/home/ann"))
        except ToolError:
            continue  # nothing is left in it
        assert text.encode()
        assert format != "html" or Page(text).problems == []
        assert format != "json" or json.loads(text)["format"] == "north-conversation"


def conversation(text: str) -> list[Any]:
    """A log with this text wherever others write."""
    log: list[Any] = changed(LOG, [])
    log[1]["message"]["content"] = [
        {"type": "text", "text": text},
        {"type": "file_mention", "path": text, "preview": text, "range": text},
    ]
    call = {"type": "tool_call", "id": "t1", "name": text or "x", "arguments": {text or "x": [text]}}
    log[2]["message"]["content"] = [{"type": "thinking", "thinking": text}, {"type": "text", "text": text}, call]
    log[2]["message"] |= {"provider": text, "model": text, "errorMessage": text}
    log[3]["request"]["files"] = [
        {"path": f"/p/{text}", "relative": text, "action": "update", "oldText": "x\n", "newText": f"{text}\n"}
    ]
    log[5]["message"] |= {"toolName": text, "content": [{"type": "text", "text": text}]}
    log[5]["message"]["details"] |= {"title": text, "text": text, "changed": True}
    log[6]["message"] |= {"command": text, "output": text}
    log[7] |= {"input": text, "output": text}
    log[10]["title"] = text
    return log


@pytest.mark.parametrize("text", HOSTILE)
def test_what_others_wrote_stays_text(tmp_path: Path, text: str) -> None:
    log = stored(tmp_path, conversation(text))
    page = page_of(log)
    assert page.problems == []
    assert page.images == []
    assert not re.search("[\x00-\x08\x0e-\x1f\u200b\u202e\U000e0041\ud800]", exported(log, "md") + exported(log, "txt"))
    for word in ("alert(1)", "evil.test"):
        assert word not in text or word in page.text


@given(st.text(alphabet="<>&\"'`*_~[]()!#-|\\ \nab1.http:/", max_size=80))
@settings(max_examples=400)
def test_any_markdown_becomes_a_safe_page(text: str) -> None:
    page = Page(f"<body>{to_html(text)}</body>")
    assert [problem for problem in page.problems if "policy" not in problem] == []


def test_markdown_is_rendered() -> None:
    text = "# One\n\nA **bold** and *soft* `code` line\nwith [a link](https://example.org/x).\n\n"
    text += "- one\n- two\n  - inner\n\n1. first\n2. second\n\n```py\nx = '<b>'\n```\n\n"
    text += "| a | b |\n|---|:-:|\n| 1 | `2` |\n\n> said\n\n---\n"
    assert to_html(text) == "\n".join(
        [
            "<h3>One</h3>",
            "<p>A <strong>bold</strong> and <em>soft</em> <code>code</code> line",
            'with <a href="https://example.org/x" title="https://example.org/x" rel="noopener noreferrer nofollow">'
            "a link</a>.</p>",
            "<ul><li>one</li><li><p>two</p>",
            "<ul><li>inner</li></ul></li></ul>",
            "<ol><li>first</li><li>second</li></ol>",
            "<pre><code>x = &#x27;&lt;b&gt;&#x27;</code></pre>",
            '<table><thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead><tbody><tr><td>1</td><td>'
            "<code>2</code></td></tr></tbody></table>",
            "<blockquote><p>said</p></blockquote>",
            "<hr>",
        ]
    )
    assert inline("snake_case_name and 2 * 3 * 4") == "snake_case_name and 2 * 3 * 4"


@pytest.mark.parametrize(
    "piece", ["[", "**", "`", "``` ", "~~a", "_a ", "](", "[a](", "\n- ", "\n> ", "|", "- - ", "*a"]
)
def test_rendering_takes_time_in_proportion_to_the_text(piece: str) -> None:
    """Ten times the text may take ten times as long, and something; what is quadratic takes a hundred times."""
    steps: list[int] = []
    for count in (2_000, 20_000):
        counted = 0

        def count_steps(frame: Any, event: str, arg: Any) -> None:
            nonlocal counted
            counted += 1

        sys.setprofile(count_steps)
        try:
            to_html(piece * count)
        finally:
            sys.setprofile(None)
        steps.append(counted)
    assert steps[1] < steps[0] * 25 + 1000


def test_the_page_has_its_pictures_and_the_digest_of_its_style(tmp_path: Path) -> None:
    data = png(2, 2)
    digest = hashlib.sha256(data).hexdigest()
    Blobs(tmp_path / "blobs").keep({digest: data})
    log = changed(LOG, [])
    log[1]["message"]["content"] += [
        {"type": "image", "mimeType": "image/png", "data": f"blob:sha256:{digest}"},
        {"type": "image", "mimeType": "image/png", "data": f"blob:sha256:{'0' * 64}"},
        {"type": "image", "mimeType": "image/svg+xml", "data": base64.b64encode(b"<svg/>").decode()},
        {"type": "image", "mimeType": "image/png", "data": "no base64 <"},
    ]
    text = exported(stored(tmp_path, log), "html", tmp_path / "blobs")
    page = Page(text)
    assert page.problems == []
    assert page.images[0] == f"data:image/png;base64,{base64.b64encode(data).decode()}"
    assert page.text.count("[picture: not available]") == 4  # and the one of LOG
    style = re.search("<style>(.*)</style>", text, re.DOTALL)
    assert style is not None
    assert base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode() in page.policy
    assert "url(" not in style[1]
    assert "@import" not in style[1]


def test_a_diff_is_shown_with_its_signs_and_what_was_only_proposed_is_called_so(tmp_path: Path) -> None:
    text = exported(stored(tmp_path, LOG), "html")
    assert '<span class="removed">-x</span><span class="added">+y</span>' in text
    assert "not applied" in Page(text).text
    assert "```diff\n--- a/a.py\n+++ b/a.py" in exported(stored(tmp_path, LOG), "md")


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (
            '{"ok":true,"data":{"path":"a.py","lines":2,"content":"one\\ntwo\\n"}}',
            "path: a.py\nlines: 2\ncontent:\none\ntwo",
        ),
        (
            '{"ok":false,"error":{"code":"NOT_FOUND","message":"there is none"}}',
            "code: NOT_FOUND\nmessage: there is none",
        ),
        ('{"ok":true}', '{"ok":true}'),
        ("{torn", "{torn"),
        ("[1]", "[1]"),
    ],
)
def test_a_result_is_shown_with_its_texts_as_they_are(tmp_path: Path, result: str, shown: str) -> None:
    log = changed(LOG, [])
    log[5]["message"]["content"] = [{"type": "text", "text": result}]
    found = stored(tmp_path, log)
    assert f"```\n{shown}\n```" in exported(found, "md")
    assert shown in Page(exported(found, "html")).text
    assert result in exported(found, "txt")


def test_what_is_damaged_is_said_and_the_rest_is_exported(tmp_path: Path) -> None:
    lines = [json.dumps(line) for line in LOG]
    lines[3] = "{torn"
    damaged = stored(tmp_path, "\n".join([*lines, '{"half']).encode())
    text = exported(damaged, "html")
    assert "line 4 cannot be read and is left out" in Page(text).text
    assert "the last line was cut off" in Page(text).text
    assert Page(text).problems == []
    headless = stored(tmp_path, "\n".join(lines[1:3]).encode())
    assert "Not everything" in exported(headless, "md")
    assert "I will" in exported(stored(tmp_path, "\n".join(["broken", *lines[1:3]]).encode()), "md")


def test_an_agents_conversation_begins_with_its_task(tmp_path: Path) -> None:
    began = agent_began("explore", "You look.", "Find it", ["read_file"], None)
    log = changed(LOG, [])
    log.insert(1, {**began.record, "id": "began", "parentId": None})
    log[2]["parentId"] = "began"
    assert exported(stored(tmp_path, log), "md") == exported(stored(tmp_path / "other", LOG), "md")


def test_a_conversation_without_a_word_has_nothing_to_export(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="nothing to export yet"):
        exported(stored(tmp_path, LOG[:1]), "html")


def test_branches_that_were_left_are_exported_folded_below_the_conversation(tmp_path: Path) -> None:
    def prompt(id: str, parent: str | None, text: str) -> dict[str, Any]:
        message = {"role": "user", "content": [{"type": "text", "text": text}], "attribution": "user"}
        return {"type": "message", "id": id, "parentId": parent, "timestamp": AT, "message": message}

    left = [prompt("b", "a", "left <b>"), prompt("c", "b", "left deeper"), prompt("d", "b", "left beside")]
    moved = {"type": "leaf_moved", "id": "f", "timestamp": AT, "leafId": "a"}
    other = prompt("e", None, "another one")
    log = stored(tmp_path, [LOG[0], prompt("a", None, "first"), *left, other, moved, prompt("g", "a", "goes on")])
    page = Page(exported(log, "html"))
    assert page.problems == []
    below = page.text.partition("Branches that were left")[2]
    assert [below.count(text) for text in ("left <b>", "left deeper", "left beside", "another one")] == [2, 1, 1, 1]
    assert below.count("After “first”") == 1
    assert below.count("After “left <b>”") == 1
    assert below.count("From the beginning") == 1
    assert "goes on" not in below
    for format in ("md", "txt", "json"):
        assert exported(log, format).count("left deeper") == 1
    branches = json.loads(exported(log, "json"))["branches"]
    assert [[row["kind"] for row in branch["rows"]] for branch in branches] == [["prompt"] * 2, ["prompt"], ["prompt"]]


def test_an_answer_that_still_streams_is_exported_as_far_as_it_came(tmp_path: Path) -> None:
    stored(tmp_path, LOG[:2])
    message = {"role": "assistant", "provider": "p", "model": "m", "content": []}
    first = {"version": 2, "id": "2", "parentId": "1", "timestamp": AT, "message": message}
    partial = tmp_path / "a1b2c3.partial.jsonl"
    partial.write_text(json.dumps(first) + "\n" + json.dumps({"piece": ["text", 0, "As far as"]}) + "\n")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    log = Log(Conversation.look_at(tmp_path / "a1b2c3.jsonl"))
    assert "As far as" in exported(log, "md")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


# -- masking -----------------------------------------------------------------------------------------------------------


def test_keys_and_the_home_folder_are_masked_everywhere(tmp_path: Path) -> None:
    key = "kx-1234567890-secret"
    text = f"{key} in /home/ann/p and /home/anna, /mnt/home/ann, file:///home/ann/x, /home/ann."
    log = stored(tmp_path, conversation(text))
    mask = mask_for([key, "short"], "/home/ann/")
    for format in FORMATS:
        assert key in exported(log, format)
        made = exported(log, format, mask=mask)
        assert key not in made
        assert "~/p and /home/anna, /mnt/home/ann, file://~/x, ~." in (Page(made).text if format == "html" else made)


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-abcdefghijklmnop",
        "sk-proj-abcdefghijklmnop1234",
        "AIza" + "x" * 35,
        "ghp_" + "a" * 36,
        "gsk_" + "a1" * 20,
        "xai-" + "a1" * 20,
        "sk_live_" + "a1" * 12,
        "AKIAABCDEFGHIJKLMNOP",
        "xoxb-1234567890-abc",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIB\nabc\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_key_is_masked(secret: str) -> None:
    text = f"before {secret} after"
    assert mask_for([], "")(text) == f"before {MASK} after"
    assert masked_in_logs(text) == f"before {MASK} after"


def test_what_is_no_key_stays() -> None:
    text = "sk-short, task-management-of-the-team, https://user@host/x, 0123456789abcdef0123456789abcdef, pk_users_name"
    assert mask_for([], "/")(text) == text
    assert mask_for([], "")("https://me:secret@host/x") == f"https://{MASK}@host/x"


# -- names -------------------------------------------------------------------------------------------------------------


def test_the_ending_of_a_name_says_the_format() -> None:
    found = [format_for(name) for name in ("a", ".a", "a.HTM", "b.md", "c.markdown", "d.txt", "e.json")]
    assert found == ["html", "html", "html", "md", "md", "txt", "json"]
    with pytest.raises(ToolError, match=r"'\.pdf' is not the ending of an export") as refused:
        format_for("f.pdf")
    assert refused.value.hint == "end the name in .html, .htm, .md, .markdown, .txt or .json, or choose a format"
    assert [format_for(name, "txt") for name in ("a", "a.txt")] == ["txt", "txt"]
    for name in ("a.pdf", "a.md"):
        with pytest.raises(ToolError, match="is not the ending of a text file") as refused:
            format_for(name, "txt")
        assert refused.value.hint == "end the name in .txt, or use /export for another format"
    assert default_name("a1b2c3", date(2026, 1, 2), "md") == "north-a1b2c3-2026-01-02.md"
