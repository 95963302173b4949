"""The commands for what is planned: the todo list."""

from collections.abc import Sequence

from north_lsp.slash.base import Command, CommandError, Host, Reply

_CHANGES = ("add", "start", "done", "drop", "rm")
_USAGE = (
    "/todo takes no words, or add, start, done, drop or rm with a task, or `set` with a whole list in Markdown, "
    "or `clear`"
)


async def _todo(host: Host, words: Sequence[str]) -> Reply:
    op, _, rest = (words[0] if words else "").partition(" ")
    first, _, below = (words[0] if words else "").partition("\n")
    if first.strip() == "set":
        await host.set_todo(below)
    elif op == "set":
        await host.set_todo(words[0].removeprefix("set").strip())
    elif words == ("clear",):
        await host.set_todo("")
    elif op in _CHANGES and rest.strip():
        await host.change_todo(op, rest.strip())
    elif words:
        raise CommandError(_USAGE)
    return Reply(host.todo() or "The todo list is empty.")


PLANNING = (
    Command(
        "todo",
        "Show or change the list of what is to be done",
        _todo,
        "[add|start|done|drop|rm <task>|set <list>|clear]",
        takes_text=True,
    ),
)
