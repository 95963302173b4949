"""What is too long enters the conversation once, in a short form; the whole stays readable."""

import json
from pathlib import Path

import pytest

from north_lsp.agent.log.digests import shorten_result, shortened_text
from north_lsp.agent.ports.results import SpilledOutput
from north_lsp.errors import ToolError
from north_lsp.storage.artifacts import Artifacts
from north_lsp.tools.base import Digest
from tests.tools.conftest import Desk


async def test_a_whole_long_file_is_shortened(desk: Desk) -> None:
    desk.write({"a": "".join(f"line {number}\n" for number in range(1, 301))})
    output = await desk.output("read_file", path="a")
    assert output.digest is not None
    rows = str(output.digest.data["content"]).split("\n")
    assert (rows[0], rows[49], rows[50], rows[51], len(rows)) == (
        "1→line 1",
        "50→line 50",
        "... 240 more lines",
        "291→line 291",
        62,
    )
    assert output.digest.data["nextRange"] == {"startLine": 51, "endLine": 290}
    assert desk.workspace.seen.ranges[desk.root / "a"] == ((1, 50), (291, 300))
    data, missing = shorten_result(output.digest, "read_file", desk.artifacts)
    assert (missing["direction"], missing["shownRange"]) == ("middle", [[1, 50], [291, 300]])
    assert (missing["totalLines"], missing["outputLines"], missing["artifactId"]) == (300, 60, "1")
    assert data["outputId"] == "1"
    part = await desk.call("expand_output", outputId="1", startLine=100, endLine=101)
    assert part["content"] == "100→100→line 100\n101→101→line 101\n"
    assert part["totalLines"] == 300
    assert (await desk.call("read_file", path="artifact://1", startLine=300))["content"] == "300→300→line 300\n"


async def test_what_was_asked_for_in_part_is_not_shortened(desk: Desk) -> None:
    desk.write({"a": "x\n" * 300})
    assert (await desk.output("read_file", path="a", startLine=1)).digest is None
    assert (await desk.output("read_file", path="a", includeHeadTail=True)).digest is None
    desk.write({"b": "x\n" * 61})
    assert (await desk.output("read_file", path="b")).digest is None


async def test_many_matches_and_many_files_are_shortened(desk: Desk) -> None:
    desk.write({f"f{number:02}": "hit\n" for number in range(30)})
    output = await desk.output("search_text", query="hit")
    assert output.digest is not None
    matches = output.digest.data["matches"]
    assert isinstance(matches, list)
    assert (len(matches), output.digest.data["totalMatches"]) == (10, 30)
    assert output.digest.full.split("\n")[29] == "f29:1: hit"
    output = await desk.output("find_files", pattern="*")
    assert output.digest is not None
    files = output.digest.data["files"]
    assert isinstance(files, list)
    assert (len(files), files[20]) == (21, "... 10 more")


async def test_outputs_are_searched_and_paged(desk: Desk) -> None:
    number = desk.artifacts.add("shell_run", "".join(f"row {at}\n" for at in range(1, 1001)))
    data = await desk.call("expand_output", outputId=str(number))
    assert (data["truncated"], data["nextRange"]) == (True, {"startLine": 501, "endLine": 1000})
    data = await desk.call("expand_output", outputId=str(number), search="row 99")
    assert data["matchCount"] == 11
    assert data["content"].startswith("99→row 99\n⋯ (lines 100–989)\n990→row 990\n")
    data = await desk.call("search_text", query="row 100", file=f"artifact://{number}")
    assert [match["line"] for match in data["matches"]] == [100, 1000]
    assert (await desk.call("read_around", path=f"artifact://{number}", anchor="row 500"))["matchLine"] == 500
    error = await desk.error("expand_output", outputId="77")
    assert (error.code, error.hint) == ("NOT_FOUND", "these can be read: 1")
    assert (await desk.error("expand_output", outputId="../1")).code == "NOT_FOUND"
    assert (await desk.error("expand_output", outputId="1", search="zzz")).code == "NO_MATCH"


def test_a_command_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    assert shortened_text("x\n" * 31, "shell_run", artifacts).text == "x\n" * 31
    text = "\n".join(str(number) for number in range(100))
    short = shortened_text(text, "shell_run", artifacts).text.split("\n")
    assert short[19:22] == ["19", "... 70 more lines: expand_output with outputId 1 ...", "90"]
    assert short[-1] == "Complete output: artifact://1"
    assert artifacts.read(1) == text


def test_numbers_go_on_and_old_outputs_make_room(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path / "c", total=250)
    for number in range(1, 5):
        assert artifacts.add("t", "x" * 100) == number
    assert artifacts.numbers() == [3, 4]
    with pytest.raises(ToolError, match="removed to save space"):
        artifacts.read(1)
    again = Artifacts(tmp_path / "c")
    assert again.add("../odd tool", "y") == 5
    assert (tmp_path / "c" / "5.---odd-tool.log").read_text() == "y"
    assert again.read(4) == "x" * 100


def test_what_cannot_be_written_is_held(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    artifacts = Artifacts(tmp_path / "file")
    assert artifacts.add("t", "text") == 1
    assert (artifacts.numbers(), artifacts.read(1)) == ([1], "text")


def test_a_digest_is_json_with_the_way_to_the_rest(tmp_path: Path) -> None:
    data, _ = shorten_result(
        Digest({"files": ["a"]}, "a\nb", "the first of 2 files"), "find_files", Artifacts(tmp_path)
    )
    assert json.loads(json.dumps(data))["digestNote"].startswith("the first of 2 files; in full: expand_output")


def test_a_stream_becomes_an_artifact_with_its_first_piece(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path / "c", total=100)
    idle, busy = artifacts.stream("shell_run"), artifacts.stream("shell_run")
    idle.close()
    assert (idle.number, artifacts.numbers()) == (None, [])
    busy.write("é" * 40)
    busy.write("rest")
    other = artifacts.add("t", "x" * 30)
    assert (busy.number, other) == (1, 2)
    busy.close()
    assert artifacts.numbers() == [2]  # the oldest made room
    again = artifacts.stream("odd tool")
    again.write("all")
    again.close()
    assert artifacts.read(3) == "all"
    assert (tmp_path / "c" / "3.odd-tool.log").stat().st_mode & 0o777 == 0o600


def test_a_stream_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    stream = Artifacts(tmp_path / "file").stream("t")
    stream.write("text")
    stream.write("more")
    stream.close()
    assert stream.number is None


def test_an_output_that_was_not_held_is_told_from_its_whole(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    short = shortened_text("a\n… 9 characters left out …\nb", "shell_run", artifacts, SpilledOutput(7, 5000, 99_999))
    assert short.text.endswith("b\nComplete output: artifact://7")
    assert short.truncation is not None
    assert short.truncation.items() >= {"truncatedBy": "bytes", "totalLines": 5000, "totalBytes": 99_999}.items()
    assert short.truncation["artifactId"] == "7"
    lost = shortened_text("a", "shell_run", artifacts, SpilledOutput(None, 5000, 99_999))
    assert lost.text == "a\n(the complete output could not be stored)"
    assert lost.truncation is not None
    assert "artifactId" not in lost.truncation
    assert artifacts.numbers() == []


def test_without_digests_there_still_is_a_limit_of_lines(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    text = "\n".join(map(str, range(1, 2500)))
    assert shortened_text(text, "t", artifacts, most=2500).text == text
    short = shortened_text(text, "t", artifacts, most=2000)
    assert short.truncation is not None
    assert (short.truncation["outputLines"], short.truncation["direction"]) == (2000, "middle")
    assert artifacts.read(1) == text
