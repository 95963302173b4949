"""Texts and files with clients that have habits of their own: what they made of a text counts, nothing is lost."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.world import World
from tests.support.foreign import ForeignClient, Habits, Remakes, foreign
from tests.support.model_server import ModelServer
from tests.support.script import Call, answer, call, say


async def turn(client: ForeignClient, server: ModelServer, *calls: Call) -> list[Any]:
    """What the model is told of each call, one after the other."""
    for one in calls:
        server.script(answer(one))
    server.script(answer(say("ok")))
    await client.prompt("go")
    results = [block for message in server.requests[-1].body["messages"] for block in _results(message)]
    return results[-len(calls) :]


def _results(message: dict[str, Any]) -> list[Any]:
    blocks = message["content"] if isinstance(message["content"], list) else []
    texts = [block["content"] for block in blocks if block["type"] == "tool_result"]
    texts = [text if isinstance(text, str) else "".join(part["text"] for part in text) for text in texts]
    return [json.loads(text) if text.startswith("{") else text for text in texts]


def replace(old: str, new: str, path: str = "a.py") -> Call:
    return call("edit_replace_exact", path=path, old=old, new=new)


def shouting(text: str) -> str:
    return text.replace("'", '"').replace("x=1", "x = 1").rstrip("\n") + "\n"


REMAKES: dict[str, Remakes] = {
    "another newline at the end": lambda text: text + "\n",
    "formatting": shouting,
    "no blank lines at the end": lambda text: text.rstrip() + "\n",
    "a removed import": lambda text: text.replace("import os\n", ""),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("name", REMAKES)
async def test_what_an_editor_makes_of_an_accepted_text_is_the_result(
    world: World, server: ModelServer, name: str
) -> None:
    path = world.project / "a.py"
    path.write_bytes(b"import sys\nprint('old', sys.argv)\n")
    accepted = "import os\nimport sys\nx=1\nprint('new', sys.argv)\n\n\n"
    made = REMAKES[name](accepted)
    assert made is not None
    async with foreign(world, Habits(remakes=REMAKES[name])) as client:
        edit = call("edit_create_file", path="a.py", content=accepted, overwrite=True)
        _, done = await turn(client, server, call("read_file", path="a.py"), edit)
        assert done["data"]["applied"], done
        assert path.read_bytes().decode() == made
        (told,) = done["data"]["changedByEditor"]
        assert told["path"] == "a.py"
        if name == "CRLF":
            assert told["diff"] == "(only the line endings differ)"
        else:
            assert any(line.startswith(("+", "-")) for line in told["diff"].splitlines())
        assert done["data"]["notices"] == ["the editor changed a.py while writing it"]
        # what stands there is what the model may go on with, and what is taken back
        _, again = await turn(client, server, call("read_file", path="a.py"), replace("sys.argv", "sys.path"))
        assert again["data"]["applied"], again
        client.habits = Habits()
        for _ in range(2):
            (undone,) = await turn(client, server, call("undo_edit"))
            assert undone["data"]["applied"], undone
        assert path.read_bytes() == b"import sys\nprint('old', sys.argv)\n"


async def test_a_newline_that_a_client_leaves_out_at_the_end_is_no_unsaved_change_and_stays(
    world: World, server: ModelServer
) -> None:
    path = world.project / "a.py"
    path.write_text("x = 1\n")
    async with foreign(world, Habits(drops_last_newline=True)) as client:
        command = call("shell_run", command="cat a.py")
        _, done, ran = await turn(client, server, call("read_file", path="a.py"), replace("x = 1", "x = 2"), command)
        assert "notices" not in done["data"]
        assert path.read_text() == "x = 2\n"
        assert "not saved" not in str(ran) + str(client.questions)
        client.buffers[path] = "x = 2\ny = 3\n"  # typed, and not saved
        _, done = await turn(client, server, call("read_file", path="a.py"), replace("x = 2", "x = 4"))
        assert path.read_text() == "x = 4\ny = 3\n"


async def test_an_edit_may_take_the_last_newline_away(world: World, server: ModelServer) -> None:
    path = world.project / "a.py"
    path.write_text("x = 1\n")
    async with foreign(world, Habits(saves=False)) as client:
        edit = call("edit_replace_exact", path="a.py", old="x = 1\n", new="x = 1")
        _, done = await turn(client, server, call("read_file", path="a.py"), edit)
        assert done["data"]["applied"], done
        assert client.buffers[path] == "x = 1"


async def test_a_batch_stands_whole_when_the_client_adds_a_final_newline(world: World, server: ModelServer) -> None:
    for name in ("a.txt", "b.txt"):
        (world.project / name).write_text("one\ntwo")
    edits = [
        {"tool": "edit_replace_exact", "args": {"path": name, "old": "two", "new": "2"}} for name in ("a.txt", "b.txt")
    ]
    async with foreign(world, Habits(remakes=lambda text: text + "\n")) as client:
        reads = [call("read_file", path=name) for name in ("a.txt", "b.txt")]
        *_, done = await turn(client, server, *reads, call("edit_apply_batch", edits=edits))
        assert done["data"]["applied"]
        assert len(done["data"]["changedByEditor"]) == 2
        listed = await client.raw.request("_north/checkpoints/list", {"sessionId": client.session})
        assert len(listed["checkpoints"]) == 1
    assert [(world.project / name).read_text() for name in ("a.txt", "b.txt")] == ["one\n2\n"] * 2


OLD = "".join(f"line {number} of the text\n" for number in range(40))
SPOILS: dict[str, tuple[Remakes, str]] = {
    "nothing is written": (lambda text: None, "still has the old text"),
    "empty": (lambda text: "", "is empty"),
    "blank": (lambda text: "\n \n", "is empty"),
    "cut off": (lambda text: text[:400], "is cut off after 400 of"),
    "unrelated": (lambda text: "something else\n" * 30, "a different text"),
    "the old text, formatted": (lambda text: OLD.replace("text", "text ") + "\n", "does not contain the change"),
}


@pytest.mark.parametrize("name", SPOILS)
@pytest.mark.parametrize("saves", [True, False])
async def test_what_is_not_the_accepted_text_any_more_does_not_stand_and_nothing_is_lost(
    world: World, server: ModelServer, name: str, saves: bool
) -> None:
    """Even when the client goes on spoiling, the disk has its old text again."""
    spoil, reason = SPOILS[name]

    def once(text: str) -> str | None:
        return spoil(text) if "spoil" in text else text

    for file in ("a.txt", "b.txt"):
        (world.project / file).write_text(OLD)
    edits = [
        {"tool": "edit_replace_exact", "args": {"path": "a.txt", "old": "line 7 ", "new": "line seven "}},
        {"tool": "edit_replace_exact", "args": {"path": "b.txt", "old": "line 7 ", "new": "line spoil "}},
    ]
    async with foreign(world, Habits(remakes=once, saves=saves)) as client:
        reads = [call("read_file", path=file) for file in ("a.txt", "b.txt")]
        *_, failed = await turn(client, server, *reads, call("edit_apply_batch", edits=edits))
        assert failed["error"]["code"] == "IO_ERROR"
        assert reason in failed["error"]["message"]
        assert "b.txt" in failed["error"]["message"]
        assert "could not be put back" not in failed["error"]["message"]
        listed = await client.raw.request("_north/checkpoints/list", {"sessionId": client.session})
        assert listed["checkpoints"] == []
        for file in ("a.txt", "b.txt"):
            assert (world.project / file).read_text() == OLD
            assert client.buffers.get(world.project / file, OLD) == OLD


async def test_a_client_that_spoils_what_is_put_back_too_is_named(world: World, server: ModelServer) -> None:
    path = world.project / "a.txt"
    path.write_text(OLD)
    async with foreign(world, Habits(remakes=lambda text: "gone\n")) as client:
        _, failed = await turn(client, server, call("read_file", path="a.txt"), replace("line 7 ", "line x ", "a.txt"))
        assert failed["error"]["code"] == "IO_ERROR"
        assert path.read_text() == OLD  # North wrote it itself
    async with foreign(world, Habits(remakes=lambda text: "gone\n", saves=False)) as client:
        _, failed = await turn(client, server, call("read_file", path="a.txt"), replace("line 7 ", "line x ", "a.txt"))
        assert "a.txt could not be put back and is as the editor left it" in failed["error"]["message"]
        assert path.read_text() == OLD


@pytest.mark.parametrize("missing", ["error", "empty", "null", "internal error"])
async def test_a_file_that_does_not_exist_can_be_created_however_the_client_says_so(
    world: World, server: ModelServer, missing: Any
) -> None:
    async with foreign(world, Habits(missing=missing)) as client:
        create = call("edit_create_file", path="notes/new.md", content="# New\n")
        (made,) = await turn(client, server, create)
        assert made["data"]["applied"], made
        assert client.missed.count("new.md") <= 2  # before it is proposed, and when it is accepted
        (missed,) = await turn(client, server, call("read_file", path="nothing.md"))
        assert missed["error"]["code"] == "NOT_FOUND"
    assert (world.project / "notes/new.md").read_text() == "# New\n"


async def test_an_unsaved_new_file_of_the_users_is_not_created_over(world: World, server: ModelServer) -> None:
    async with foreign(world) as client:
        client.buffers[world.project / "new.md"] = "my own words\n"
        (refused,) = await turn(client, server, call("edit_create_file", path="new.md", content="# New\n"))
        assert refused["ok"] is False
    assert not (world.project / "new.md").exists()


async def test_an_empty_answer_for_a_file_with_contents_is_not_taken_for_its_text(
    world: World, server: ModelServer
) -> None:
    path = world.project / "a.txt"
    path.write_text(OLD)
    async with foreign(world) as client:
        client.buffers[path] = ""
        read, edit, whole = await turn(
            client,
            server,
            call("read_file", path="a.txt"),
            replace("line 7 ", "line x ", "a.txt"),
            call("edit_create_file", path="a.txt", content="all new\n", overwrite=True),
        )
        assert "line 7 " in json.dumps(read)
        assert "did not tell" in json.dumps(read)
        for refused in (edit, whole):
            assert refused["error"]["code"] == "UNAVAILABLE"
            assert "answered with an empty text" in refused["error"]["message"]
        assert client.questions == []
    assert path.read_text() == OLD


async def test_an_empty_file_stays_an_empty_file(world: World, server: ModelServer) -> None:
    path = world.project / "a.txt"
    path.write_text("")
    async with foreign(world, Habits(missing="empty")) as client:
        (refused,) = await turn(client, server, call("edit_create_file", path="a.txt", content="x\n"))
        assert refused["error"]["code"] == "CONFLICT"
        _, done = await turn(
            client,
            server,
            call("read_file", path="a.txt"),
            call("edit_create_file", path="a.txt", content="x\n", overwrite=True),
        )
        assert done["data"]["applied"]
    assert path.read_text() == "x\n"


async def test_an_error_of_the_editor_refuses_the_edit_and_is_logged(world: World, server: ModelServer) -> None:
    """Its unsaved text would be written over."""
    path = world.project / "a.txt"
    path.write_text(OLD)
    async with foreign(world) as client:

        async def failing(params: dict[str, Any]) -> Any:
            raise client_error(-32603, "buffer is locked")

        client.raw.handlers["fs/read_text_file"] = failing
        read, edit = await turn(client, server, call("read_file", path="a.txt"), replace("line 7 ", "line x ", "a.txt"))
        assert "line 7 " in json.dumps(read)
        assert "did not tell" in json.dumps(read)
        assert edit["error"]["code"] == "UNAVAILABLE"
        assert "it answered: buffer is locked" in edit["error"]["message"]
    assert path.read_text() == OLD
    assert "client_file_unknown" in logged(world)


async def test_an_editor_that_falls_silent_during_the_question_refuses_the_edit(
    world: World, server: ModelServer
) -> None:
    """Nothing is written over the text that the editor may have."""
    path = world.project / "a.txt"
    path.write_text(OLD)
    async with foreign(world) as client:
        decide = client.raw.handlers["session/request_permission"]

        async def silent(params: dict[str, Any]) -> Any:
            return None

        async def then_silent(params: dict[str, Any]) -> Any:
            client.raw.handlers["fs/read_text_file"] = silent
            return await decide(params)

        client.raw.handlers["session/request_permission"] = then_silent
        _, edit = await turn(client, server, call("read_file", path="a.txt"), replace("line 7 ", "line x ", "a.txt"))
        assert edit["error"]["code"] == "UNAVAILABLE"
        assert "did not answer within 10 s" in edit["error"]["message"]
        assert client.written == []
    assert path.read_text() == OLD
    assert "client_file_unknown" in logged(world)


@pytest.mark.parametrize("code", [-32601, -32002])
async def test_a_client_that_cannot_read_after_all_leaves_it_to_the_disk(
    world: World, server: ModelServer, code: int
) -> None:
    """The method is unknown, or it has no such file open: nothing unsaved is there to be lost."""
    path = world.project / "a.txt"
    path.write_text(OLD)
    async with foreign(world) as client:

        async def failing(params: dict[str, Any]) -> Any:
            raise client_error(code, "no")

        client.raw.handlers["fs/read_text_file"] = failing
        _, edit = await turn(client, server, call("read_file", path="a.txt"), replace("line 7 ", "line x ", "a.txt"))
        assert edit["data"]["applied"]
    assert "line x " in path.read_text()


async def test_a_client_that_writes_to_its_buffer_alone_is_told_of_before_a_command_runs(
    world: World, server: ModelServer
) -> None:
    path = world.project / "a.txt"
    path.write_text(OLD)
    async with foreign(world, Habits(saves=False)) as client:
        _, edit, ran = await turn(
            client,
            server,
            call("read_file", path="a.txt"),
            replace("line 7 ", "line seven ", "a.txt"),
            call("shell_run", command="echo $(grep -c seven a.txt) found"),
        )
        assert edit["data"]["applied"]
        assert "a.txt was changed in the editor but is not saved yet" in edit["data"]["notices"][0]
        assert "0 found" in ran
        assert "1 open file is not saved in the editor: a.txt" in ran
        question = client.questions[-1]
        assert "1 open file is not saved in the editor: a.txt" in json.dumps(question["toolCall"]["content"])
        client.presses = ["allow_always"]
        (once,) = await turn(client, server, call("shell_run", command="cat a.txt | wc -l"))
        (unasked,) = await turn(client, server, call("shell_run", command="cat a.txt | wc -l"))
        assert len(client.questions) == 3
        assert "a.txt" in once
        assert "1 open file is not saved in the editor: a.txt" in unasked
        path.write_text(client.buffers[path])  # the user saves
        (saved,) = await turn(client, server, call("shell_run", command="cat a.txt | wc -l"))
        assert "not saved" not in saved


def client_error(code: int, message: str) -> Exception:
    from tests.support.client import RpcFailure

    return RpcFailure({"code": code, "message": message})


def logged(world: World) -> str:
    return "".join(path.read_text() for path in (world.folder / "state").rglob("*.log*"))


async def test_what_is_typed_while_the_files_before_are_written_is_merged(world: World, server: ModelServer) -> None:
    """A batch is written file by file, and each write waits for the client."""
    first, second = (world.project / name for name in ("a.txt", "b.txt"))
    for path in (first, second):
        path.write_text("one\ntwo\n")
    buffers: dict[Path, str] = {}

    def typing(text: str) -> str:
        if not buffers:
            buffers[second] = "typed\none\ntwo\n"
        return text

    edits = [
        {"tool": "edit_replace_exact", "args": {"path": path.name, "old": "two", "new": "2"}}
        for path in (first, second)
    ]
    async with foreign(world, Habits(remakes=typing)) as client:
        client.buffers = buffers
        reads = [call("read_file", path=path.name) for path in (first, second)]
        *_, done = await turn(client, server, *reads, call("edit_apply_batch", edits=edits))
        assert done["data"]["applied"]
    assert first.read_text() == "one\n2\n"
    assert buffers[second] == "typed\none\n2\n"
