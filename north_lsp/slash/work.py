"""The commands for the goal of a conversation, and for workflows."""

from collections.abc import Sequence

from north_lsp.slash.base import Command, CommandError, Host, Reply

_NONE = "There is no goal. `/goal set` takes one: a heading, and a line for each criterion."


async def _goal(host: Host, words: Sequence[str]) -> Reply:
    text, changes = words[0] if words else "", ""
    if text == "drop":
        await host.set_goal("")
        return Reply("The goal is dropped.")
    if text.split(None, 1)[:1] == ["set"]:
        changes = await host.set_goal(text.removeprefix("set").strip())
    elif text:
        raise CommandError("/goal takes no words, `set` with a goal in Markdown, or `drop`")
    warning = f"\n\nThese commands do more than check, which makes no evidence stale: {changes}." if changes else ""
    return Reply((host.goal() or _NONE) + warning)


async def _work(host: Host, words: Sequence[str]) -> Reply:
    match (words[0] if words else "").split(None, 2):
        case [] | ["list"]:
            return Reply(await host.work())
        case ["start", name, rest]:
            return Reply("", prompt=await host.begin_work(name, rest))
        case ["start", name]:
            return Reply("", prompt=await host.begin_work(name, ""))
        case ["resume", slug]:
            where = await host.resume_work(slug)
            return Reply(where, prompt="Continue the workflow where it is: look at it with the tool `workflow` first.")
        case ["stop"]:
            await host.stop_work()
            return Reply("The workflow has ended; its documents stay.")
        case ["archive", slug]:
            await host.archive_work(slug)
            return Reply(f"`{slug}` is archived: it is not listed any more.")
        case _:
            raise CommandError("/work takes no words, or `start <workflow> <what>`, `resume <slug>`, `stop`, `archive`")


WORK = (
    Command(
        "goal",
        "Show or change the goal of this conversation",
        _goal,
        "[set <goal>|drop]",
        takes_text=True,
    ),
    Command(
        "work",
        "Begin, take up or end a workflow: clarify, plan, execute-and-verify, parallelise",
        _work,
        "[start <workflow> <what> [--auto] [--research]|resume <slug>|stop|archive <slug>]",
        takes_text=True,
    ),
)
