"""Conversations that together have every kind of record in their logs, each described as what the user does and the
model answers. `python -m tests.support.recorded` writes their logs into `tests/agent/log/golden`."""

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from north_lsp.workspace.project_root import project_hash
from tests.end_to_end.test_faults import configure
from tests.end_to_end.world import World, make_world
from tests.support.client import RawAcpClient, RpcFailure
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import (
    Answer,
    Call,
    Cut,
    Fail,
    Gate,
    Part,
    Say,
    Stop,
    Think,
    answer,
    call,
)

GAP = "#\n" * 10
MANY = f"ITEM = 1\n{GAP}ITEM = 2\n{GAP}ITEM = 3\n"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003010100c9fe92ef"
    "0000000049454e44ae426082"
)


@dataclass
class Stage:
    """One running conversation. `verdicts` answer the questions to come, as functions of the question; when they are
    used up, the first option is chosen."""

    world: World
    server: ModelServer
    client: RawAcpClient
    session: str
    verdicts: list[Callable[[dict[str, Any]], dict[str, Any]]] = field(default_factory=list)

    async def decide(self, params: dict[str, Any]) -> dict[str, Any]:
        if self.verdicts:
            return self.verdicts.pop(0)(params)
        return {"outcome": {"outcome": "selected", "optionId": params["options"][0]["optionId"]}}

    def start(self, *blocks: str | dict[str, Any], **north: object) -> Awaitable[int]:
        rows = [{"type": "text", "text": one} if isinstance(one, str) else one for one in blocks]
        meta = {"_meta": {"north": north}} if north else {}
        return self.client.start_request("session/prompt", {"sessionId": self.session, "prompt": rows, **meta})

    async def say(self, *blocks: str | dict[str, Any], answers: tuple[Answer, ...] = ()) -> str:
        """Send a prompt that the model answers like this. Return the stop reason or the error's message."""
        self.server.script(*answers)
        try:
            return str((await self.client.answer(await self.start(*blocks)))["stopReason"])
        except RpcFailure as failure:
            return failure.message

    async def ask(self, method: str, **params: object) -> Any:
        return await self.client.request(method, {"sessionId": self.session, **params})

    async def set(self, option: str, value: str) -> None:
        await self.ask("session/set_config_option", configId=option, value=value)

    def write(self, name: str, content: str | bytes) -> None:
        path = self.world.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


NOTICES: dict[str, Any] = {"session": {"notices": {}}}


@asynccontextmanager
async def stage(world: World, server: ModelServer) -> AsyncIterator[Stage]:
    async with inside(world.environ, north={"hunks": True}, capabilities=NOTICES) as client:
        place = {"cwd": str(world.project), "mcpServers": []}
        session = str((await client.request("session/new", place))["sessionId"])
        there = Stage(world, server, client, session)
        client.handlers["session/request_permission"] = there.decide
        yield there


def option(id: str, **north: object) -> Callable[[dict[str, Any]], dict[str, Any]]:
    more = {"_meta": {"north": north}} if north else {}
    return lambda params: {"outcome": {"outcome": "selected", "optionId": id}, **more}


def hunks(*ids: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a verdict that accepts these hunks of each file that has some."""

    def chosen(params: dict[str, Any]) -> dict[str, Any]:
        files = params["_meta"]["north"]["files"]
        named = {file["path"]: [row["id"] for row in file["hunks"] if row["id"] in ids] for file in files}
        return option("accept", hunks=named)(params)

    return chosen


def texts(change: Callable[[str], str]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a verdict that accepts the first file as the user has changed it."""

    def chosen(params: dict[str, Any]) -> dict[str, Any]:
        diff = next(one for one in params["toolCall"]["content"] if one["type"] == "diff")
        return option("accept", texts={diff["path"]: change(diff["newText"])}, comment="as discussed")(params)

    return chosen


def stopped(params: dict[str, Any]) -> dict[str, Any]:
    return {"outcome": {"outcome": "cancelled"}}


def replace(path: str, old: str, new: str, count: int = 1) -> Part:
    return call("edit_replace_exact", path=path, old=old, new=new, expectedOccurrences=count)


def shell(command: str) -> Part:
    return call("shell_run", command=command)


def block(path: str, content: str, *, end: bool = True, mode: str = "") -> str:
    mode = f' mode="{mode}"' if mode else ""
    return f'<NORTH_FILE path="{path}"{mode}>\n{content}' + ("</NORTH_FILE>\n" if end else "")


READ = answer(Say("I read it first."), call("read_file", path="many.py"))
BYE = answer(Say("Done."))


async def edits(on: Stage) -> None:
    """Play edits: accepted, partly accepted, rejected, changed by the user, stopped; undone and redone."""
    on.write("many.py", MANY)
    on.write("old.txt", "old\n")
    rename = replace("many.py", "ITEM", "ENTRY", 3)
    on.verdicts = [hunks("h1", "h3")]
    await on.say("Rename some", answers=(READ, answer(Think("hm"), Say("So."), rename), BYE))
    on.verdicts = [option("reject", comment="use another name")]
    await on.say("Rename the rest", answers=(READ, answer(replace("many.py", "ITEM", "ENTRY")), BYE))
    on.verdicts = [texts(lambda text: text.replace("ENTRY = 2", "ENTRY = 22"))]
    await on.say("Again", answers=(answer(replace("many.py", "ITEM", "ENTRY")), BYE))
    await on.say("/checkpoint here")
    made = call("edit_create_file", path="new/made.txt", content="one\ntwo\n")
    moved = Call("edit_move_file", {"from": "old.txt", "to": "moved.txt"}, "toolu_moved")
    gone = call("edit_delete_file", path="many.py")
    on.verdicts = [option("accept"), option("accept"), hunks()]
    await on.say("Files", answers=(answer(made, moved, gone), BYE))
    nothing = replace("many.py", "ENTRY = 1", "ENTRY = 1")
    wrong = replace("many.py", "NOWHERE", "X")
    await on.say("Wrong ones", answers=(answer(nothing, wrong, call("no_such_tool", a=1)), BYE))
    on.verdicts = [stopped]
    await on.say("Stop", answers=(answer(replace("many.py", "ENTRY = 1", "X = 1"), shell("true")),))
    await on.say("/undo")
    await on.say("/redo")
    await on.say("And now?", answers=(BYE,))


async def commands(on: Stage) -> None:
    """Play commands of the model and the user (allowed, denied, failed, changed, cancelled) and slash commands."""
    await on.say("Run it", answers=(answer(shell("echo one; echo two >&2"), shell("false")), BYE))
    on.verdicts = [option("deny", comment="not now"), option("run", command="echo changed > other.txt")]
    await on.say("And these", answers=(answer(shell("touch a.txt"), shell("touch b.txt")), BYE))
    await on.say("Long", answers=(answer(shell("seq 1 200")), BYE))
    await on.say("!echo mine; exit 3")
    await on.say("!!echo hidden")
    await on.say("/help")
    await on.say("/nothing")
    await on.say("What now?", answers=(BYE,))
    waiting = await on.start("!sleep 30")
    await on.client.wait_update(lambda update: update.get("rawInput") == {"command": "sleep 30"})
    await on.client.notify("session/cancel", {"sessionId": on.session})
    await on.client.answer(waiting)
    await on.say("Bye", answers=(BYE,))


async def models(on: Stage) -> None:
    """Play models that fail, are asked again or give way to another one, and the user's choices of models."""
    on.write("many.py", MANY)
    on.server.may_refuse = True
    busy = answer(Fail(529, "overloaded_error", "overloaded"))
    broken = answer(Say("I will look."), call("read_file", path="many.py"), Cut())
    await on.say("Go", answers=(answer(Think("hm, "), Say("Good.")),))
    await on.say("Look", answers=(broken, answer(Say("Looked."))))
    await on.say("Anybody?", answers=(busy, busy, answer(Say("I am."))))
    await on.say("/model opus-4-5")
    await on.say("Anybody else?", answers=(busy, busy))
    await on.say("Still?", answers=(broken, broken, busy))
    await on.say("Another?", answers=(answer(Say("No."), Stop("refusal")),))
    await on.say("/thinking high")
    await on.set("mode", "ask")
    await on.say("Edit it", answers=(answer(replace("many.py", "ITEM = 1", "X")), BYE))
    await on.set("mode", "agent")
    await on.say("/model haiku-4-5")
    await on.say("Who?", answers=(BYE,))


async def file_blocks(on: Stage) -> None:
    """Play answers with files in their text."""
    on.write("old.txt", "what was there\n")
    one, two = block("one.txt", "a\nb\n"), block("two.txt", "c\n")
    text = f"Here.\n{one}Then.\n{two}End."
    on.verdicts = [option("accept"), option("reject")]
    await on.say("Write both", answers=(answer(Say(text, chunks=20)), BYE))
    refused = "Look:\n" + block("../out.txt", "x\n") + "Done."
    await on.say("Outside", answers=(answer(Say(refused, chunks=9)), answer(Say(" I see."))))
    first = answer(Say(block("big.txt", "1\n2\n3\n", end=False)), Stop("max_tokens"))
    rest = answer(Say(block("big.txt", "3\n4\n", mode="append")))
    await on.say("Long one", answers=(first, rest, BYE))
    pieces = [block("long.txt", f"{number}\n", end=False, mode="append" if number else "") for number in range(4)]
    endless = tuple(answer(Say(piece), Stop("max_tokens")) for piece in pieces)
    await on.say("Never ends", answers=(*endless, answer(Say("I give up."))))
    mixed = answer(Say(block("three.txt", "3\n")), call("read_file", path="old.txt"))
    on.verdicts = [texts(lambda text: text + "mine\n")]
    await on.say("Mixed", answers=(mixed, BYE))


async def meanwhile(on: Stage) -> None:
    """Play prompts that are sent while a turn runs, and cancelled turns."""
    on.write("many.py", MANY)
    look = call("read_file", path="many.py")
    on.server.script(answer(Say("Reading."), Gate("one"), look, call("list_root")), answer(Say("Right.")))
    first = await on.start("Begin")
    await on.server.reached("one")
    steered = await on.client.start_request(
        "_north/steer", {"sessionId": on.session, "prompt": [{"type": "text", "text": "The first is enough"}]}
    )
    await on.ask("_north/costs/get")
    on.server.open("one")
    await on.client.answer(steered)
    await on.client.answer(first)
    on.server.script(answer(Say("One."), Gate("two")), answer(Say("Two.", 1)))
    first = await on.start("First")
    await on.server.reached("two")
    await on.ask("_north/followUp", prompt=[{"type": "text", "text": "Second"}])
    on.server.open("two")
    await on.client.answer(first)
    await on.client.wait_update(lambda update: update.get("content") == {"type": "text", "text": "Two."})
    await on.ask("_north/state/get")
    on.server.script(answer(Say("Half of it"), call("read_file", path="many.py"), Gate("three")))
    first = await on.start("To be cancelled")
    await on.server.reached("three")
    await on.client.notify("session/cancel", {"sessionId": on.session})
    await on.client.answer(first)
    on.server.script(answer(shell("sleep 30")))
    first = await on.start("To be cancelled as well")
    await on.client.wait_update(lambda update: update.get("title") == "Running sleep 30")
    await on.client.notify("session/cancel", {"sessionId": on.session})
    await on.client.answer(first)
    await on.say("Bye", answers=(BYE,))


async def attachments(on: Stage) -> None:
    """Play prompts with attachments, pictures, and other tools."""
    on.write("many.py", MANY)
    on.write("dot.png", PNG)
    uri = (on.world.project / "many.py").as_uri()
    link = {"type": "resource_link", "uri": uri, "name": "many.py"}
    lines = {"type": "resource_link", "uri": f"{uri}#L1-L2", "name": "many.py"}
    held = {"type": "resource", "resource": {"uri": uri, "text": "ITEM = 1\n"}}
    await on.say("See", link, lines, held, answers=(answer(call("read_file", path="dot.png")), BYE))
    await on.say("Look", {"type": "resource_link", "uri": "file:///nowhere/x.py", "name": "x.py"}, answers=(BYE,))
    search = call("search_text", query="ITEM")
    await on.say("Find", answers=(answer(search, call("read_file", path="nothing.py")), BYE))


async def summaries(on: Stage) -> None:
    """Play summaries: one that a model writes, one that fails, one after another, and what is said between them."""
    on.write("many.py", MANY)
    written = json.dumps({"goal": "See to it", "openTasks": ["the rest"], "shortSummary": "Seeing to it"})
    on.verdicts = [option("accept")]
    long = "Go on: " + "and on, " * 400
    await on.say(long, answers=(READ, answer(replace("many.py", "ITEM = 1", "X")), BYE))
    await on.say(long, answers=(answer(call("list_root")), BYE))
    await on.say("/summarize --keep-last 1", answers=(answer(Say(written)), answer(Say(written))))
    await on.say(long, answers=(BYE,))
    await on.say("/summarize --keep-last 0", answers=(answer(Fail(401, "authentication_error", "no")),))
    await on.say("/summarize --keep-last 0", answers=(answer(Say(written)),))
    await on.say("Bye", answers=(BYE,))


PLAN = (
    "# Goal\nA file.\n# Findings\nNone.\n# Steps\n1. Write `new.txt` (new.txt; read it)\n"
    "# Risks\nNone.\n# Out of scope\nAll else.\n"
)
TODO = {"op": "init", "list": [{"phase": "Read", "items": ["a", "b"]}, {"phase": "Write", "items": ["c"]}]}
COLOR = {"id": "color", "question": "Which color?", "options": [{"label": "Red"}, {"label": "Green"}], "recommended": 1}
NO_EVAL = "---\ncondition: 'eval\\('\n{}\n---\nNever call eval."


def todo(*ops: dict[str, Any]) -> Part:
    return call("todo", ops=list(ops))


def asked(*questions: dict[str, Any]) -> Part:
    return call("ask", questions=list(questions))


def tasks(*rows: dict[str, Any]) -> Part:
    return call("task", tasks=list(rows))


async def planning(on: Stage) -> None:
    """Play a todo list, questions of the model, and plans that are rejected and approved."""
    done, note = {"op": "done", "task": "a"}, {"op": "note", "task": "b", "text": "x"}
    await on.say("List it", answers=(answer(todo(TODO)), answer(todo(done), todo(note)), BYE))
    await on.say("/todo done b")
    on.verdicts = [option("1"), stopped, option("own", comment="Blue")]
    await on.say("Paint it", answers=(answer(asked(COLOR)), answer(asked(COLOR)), answer(asked(COLOR)), BYE))
    await on.set("mode", "plan")
    written, shown = answer(call("write_plan", content=PLAN)), answer(call("exit_plan_mode", summary="A file."))
    early = answer(call("edit_create_file", path="new.txt", content="hello\n"))
    on.verdicts = [option("reject", comment="too risky")]
    await on.say("Plan it", answers=(early, written, shown, BYE))
    on.verdicts = [option("execute"), option("accept")]
    await on.say("Again", answers=(written, shown, early, BYE))


async def agents(on: Stage) -> None:
    """Play agents: what they find, their edits and commands, accepted and rejected, and one that gets nowhere."""
    on.server.may_refuse = True
    edit = answer(call("edit_create_file", path="new.txt", content="hello\n"))
    found = answer(call("submit_result", result="They wanted it.", summary="Found."))
    written = tasks({"agent": "task", "prompt": "Write it", "id": "write"})
    on.verdicts = [option("accept")]
    await on.say("Have it written", answers=(answer(Say("An agent."), written), edit, found, BYE))
    on.verdicts = [option("reject"), option("run")]
    run = answer(shell("echo hi"))
    other = answer(call("edit_create_file", path="other.txt", content="hello\n"))
    await on.say("And again", answers=(answer(written), edit, other, run, found, BYE))
    on.server.script(answer(written), answer(shell("sleep 30")))
    first = await on.start("To be cancelled")
    await on.client.wait_update(lambda update: update.get("title") == "task: Running sleep 30")
    await on.client.notify("session/cancel", {"sessionId": on.session})
    await on.client.answer(first)
    on.server.drop()
    lost = tasks({"agent": "oracle", "prompt": "Think"})
    await on.say("Ask one", answers=(answer(lost), answer(Fail(400, "invalid_request_error", "no")), BYE))
    await on.say("/undo")


async def rules(on: Stage) -> None:
    """Play rules that stop an answer, go with a result, and are told after an answer."""
    on.write(".north/rules/stops.md", NO_EVAL.format("scope: tool"))
    on.write(".north/rules/later.md", NO_EVAL.replace("eval", "exec").format("scope: text\ninterrupt: false"))
    bad, good = (call("edit_create_file", path="a.py", content=text) for text in ("x = eval(a)\n", "x = 1\n"))
    await on.say("Write it", answers=(answer(Say("So."), bad), answer(good), BYE))
    await on.say("How?", answers=(answer(Say("Use exec(x).")), answer(Say("I do not."))))


async def background(on: Stage) -> None:
    """Play commands in the background: what they print, and their end."""
    begun = call("shell_run", command="echo up; read x; echo heard $x", background=True)
    told = call("job", action="input", jobId="1", text="me\n")
    awaited = call("job", action="wait", jobId="1", timeout=60)
    await on.say("Begin", answers=(answer(begun), answer(told), answer(awaited), BYE))
    await on.say("/jobs")
    await on.say("And?", answers=(BYE,))


RETRY = {"requestMaxRetries": 0, "streamMaxRetries": 1, "maxRetries": 1, "baseDelayMs": 8}
SETTINGS: dict[str, Any] = {"todo.reminders": False, "retry": RETRY | {"fallbackChains": {"sonnet-4-5": ["haiku-4-5"]}}}
_EARLIER = (edits, commands, models, file_blocks, meanwhile, attachments, summaries)
RECORDED = {one.__name__: one for one in (*_EARLIER, planning, agents, rules, background)}


def portable(text: str, world: World) -> str:
    """Replace the paths of this machine with placeholders."""
    text = text.replace(project_hash(world.project), "{hash}")
    return text.replace(str(world.project), "{project}").replace(str(world.folder), "{world}")


def local(text: str, world: World) -> str:
    """Replace the placeholders with the paths of this machine."""
    text = text.replace("{hash}", project_hash(world.project))
    return text.replace("{project}", str(world.project)).replace("{world}", str(world.folder))


async def _record(name: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary, ModelServer() as server:
        world = make_world(Path(temporary) / "world", server.url)
        configure(world, **SETTINGS)
        async with stage(world, server) as there:
            await RECORDED[name](there)
        (log,) = world.data.glob("conversations/*.jsonl")
        (folder / f"{name}.jsonl").write_text(portable(log.read_text(), world))


def main() -> None:
    folder = Path("tests/agent/log/golden")
    for name in sys.argv[1:] or RECORDED:
        asyncio.run(_record(name, folder))
        lines = (folder / f"{name}.jsonl").read_text().splitlines()
        sys.stdout.write(f"{name}: {len(lines)} lines, {sum(map(len, lines))} characters\n")
        kinds = {json.loads(line)["type"] for line in lines}
        sys.stdout.write(f"  {sorted(kinds)}\n")


if __name__ == "__main__":
    main()
