"""The types of slash commands: a command, its reply, and the host that it acts on."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from north_lsp.lazy_dataclass import dataclass

MemoryAction = Literal["view", "clear", "enqueue", "rebuild"]
SettingPlace = Literal["user", "project", "session"]
"""Where a setting is changed: in the user's settings, in the project's, or for this conversation alone."""


class CommandError(Exception):
    """The command could not be carried out; the text says why, and what to do instead. It is shown as a sentence."""


class UsageError(CommandError):
    """These words cannot follow the command. Its usage is shown, and then the text, which says only what the hint does
    not."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Markdown for the user; `prompt` is sent to the model in the command's place. `then` is done once the text is in
    the conversation."""

    text: str
    prompt: str = ""
    then: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """What one model has used: tokens, US dollars, and whether its price is known."""

    model: str
    input: int
    output: int
    cost_usd: float
    priced: bool = True


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs by model, for this conversation and for all; `days` are the last days with what they cost, by date;
    `missing` says what is not in the sums over all, and why."""

    session: Sequence[Spent]
    all_time: Sequence[Spent]
    days: Sequence[tuple[str, float]]
    missing: str = ""


@dataclass(frozen=True, slots=True)
class PlannedProvider:
    """A change of models.yml at `path`; `shown` is the change in Markdown, `next_step` what to do once it is there.
    `write` may raise CommandError."""

    path: str
    shown: str
    next_step: str
    write: Callable[[], Awaitable[None]]


class KnownKey(Protocol):
    """A stored key: `ending` is all that is shown of it."""

    @property
    def id(self) -> int: ...

    @property
    def provider(self) -> str: ...

    @property
    def label(self) -> str: ...

    @property
    def ending(self) -> str: ...

    @property
    def use(self) -> str: ...


class Host(Protocol):
    """The conversation that a command was typed in. Every method may raise CommandError."""

    @property
    def mode(self) -> str: ...

    @property
    def modes(self) -> Sequence[tuple[str, str]]:
        """The ids of the modes, and what each means."""
        ...

    async def set_mode(self, id: str) -> None: ...

    @property
    def model(self) -> str: ...

    @property
    def models(self) -> Sequence[tuple[str, str]]:
        """The selectors and names of the models that can be used now."""
        ...

    async def set_model(self, selector: str) -> str:
        """Choose a model; return the name of the one chosen."""
        ...

    @property
    def thinking(self) -> tuple[str, Sequence[str]]:
        """The level, and those that the model has: none for one that does not think."""
        ...

    async def set_thinking(self, level: str) -> None:
        """Set one of the levels, or `on`."""
        ...

    async def costs(self) -> Costs: ...

    async def reset_costs(self) -> None:
        """Reset what all conversations have used and cost."""
        ...

    async def undo(self, steps: int, path: str | None, conflicts: str) -> str:
        """Undo the last changes, all or of one file; `conflicts` (skip, overwrite, merge) is what happens to places
        that were changed later. Returns the outcome in words."""
        ...

    async def redo(self, steps: int, path: str | None, conflicts: str) -> str: ...

    async def checkpoint(self, name: str) -> str: ...

    def checkpoints(self) -> str: ...

    async def restore(self, name: str, conflicts: str) -> str:
        """Restore the files as they were at a checkpoint, by its id or name."""
        ...

    async def differences(self, since: str | None) -> str:
        """Show what the conversation has changed, since its beginning or a checkpoint."""
        ...

    async def differences_from_git(self) -> str: ...

    def statistics(self) -> str: ...

    async def conversations(self, query: str, *, everywhere: bool) -> str:
        """List the conversations of the project or of all, or those with the words of a query, in Markdown."""
        ...

    async def resume(self, target: str) -> str:
        """Have the editor open another conversation, by the beginning of its id or by words in it; empty asks which."""
        ...

    async def continue_last(self) -> str:
        """Have the editor open the last conversation of its window, else the project's newest, in place of a new one
        in which nothing was said."""
        ...

    async def quit(self) -> str:
        """Have the client close this conversation."""
        ...

    async def begin_anew(self) -> str:
        """Have the editor begin a new conversation."""
        ...

    async def rename(self, title: str) -> str:
        """Give this conversation a title; return it as it is shown."""
        ...

    async def archive(self, id: str | None, *, archived: bool) -> str:
        """Hide a conversation (None: this one) from lists, or show it again."""
        ...

    async def delete_conversation(self, target: str) -> str:
        """Move another conversation to the trash, after a question: the one whose id begins so, or one with these
        words; empty asks which."""
        ...

    async def trash(self, query: str) -> str:
        """List the deleted conversations of the project, or those with the words of a query, in Markdown."""
        ...

    async def restore_conversation(self, target: str) -> str:
        """Put a deleted conversation back: the one whose id begins so, or one with these words."""
        ...

    async def numbers(self) -> str:
        """Say what the conversation adds up to: prompts, calls, tokens, times."""
        ...

    async def export(self, path: str | None, format: str | None, only: str | None, *, raw: bool) -> str:
        """Write the conversation to a file, after a question if there is one already; returns the file's path. Without
        a format, the file's ending says it; it must be that of the `only` one, if there is one."""
        ...

    def prompts(self, command: str) -> str:
        """List the user's prompts with their numbers, for a command that takes one."""
        ...

    async def tree(self, filter: str, query: str) -> str:
        """Show all branches of the conversation, as far as they pass the filter and have the query's words."""
        ...

    async def rewind(self, place: str, what: str, conflicts: str, summary: str | None) -> Reply:
        """Go to before a prompt, or to another place; `what` is conversation, files or both. With `summary`, which may
        have instructions for it, what is left behind is summarized."""
        ...

    async def branch(self, place: str) -> Reply:
        """Copy the conversation up to before a prompt."""
        ...

    async def fork(self) -> Reply:
        """Copy the whole conversation."""
        ...

    def labels(self) -> str: ...

    def label(self, text: str) -> str:
        """Name the present place; an empty text takes the name away."""
        ...

    async def compact(self, instructions: str, keep_last: int | None) -> Reply:
        """Have the older part of the conversation summarized; `keep_last` is how many of the last messages stay, None
        for as many as are short enough."""
        ...

    async def hand_over(self, focus: str) -> Reply:
        """Begin another conversation with a summary of this one; `focus` is what matters most there."""
        ...

    async def learn(self) -> str:
        """Have the project explored for its profile; return in words what came of it."""
        ...

    async def memory(self, action: MemoryAction) -> str:
        """Show what is remembered of the project (`view`), remove it after a question (`clear`), have the work on it
        done soon (`enqueue`), or all of it anew and now (`rebuild`)."""
        ...

    async def agents(self) -> str:
        """List the agents that a model can use, with where each comes from, in Markdown."""
        ...

    def draft_of_agent(self, text: str) -> str:
        """Return the prompt that has a model write an agent's file."""
        ...

    async def tasks(self) -> str:
        """List what agents work on, and have worked on, in Markdown."""
        ...

    async def task(self, id: str) -> str:
        """Return the conversation of an agent, in Markdown."""
        ...

    def cancel_task(self, id: str) -> str: ...

    def queued(self) -> Sequence[tuple[str, str]]:
        """Return the kind and text of all queued prompts."""
        ...

    @property
    def is_unfinished(self) -> bool:
        """Whether the model was stopped before it had done what it was asked for."""
        ...

    def cancel(self) -> bool:
        """Cancel what is running; return whether anything was."""
        ...

    async def permissions(self) -> str:
        """List all that is allowed in this project without asking, numbered, in Markdown."""
        ...

    async def revoke(self, number: int) -> str:
        """Revoke a permission by its number in the list that was shown last."""
        ...

    @property
    def auto(self) -> Mapping[str, bool]:
        """Whether `edits` and `shell` (commands) are accepted without asking."""
        ...

    async def set_auto(self, kind: str, *, on: bool) -> None: ...

    async def accept_for_conversation(self, kind: str) -> None:
        """Accept `edits` or `shell` without asking until this conversation is closed."""
        ...

    def only_for_conversation(self, kind: str) -> bool:
        """Tell whether something is accepted only until this conversation is closed."""
        ...

    async def git_would_take_switches(self) -> bool:
        """Tell whether the project's file with these switches would become part of its git repository."""
        ...

    async def keep_switches_out_of_git(self) -> str:
        """Have git ignore the files of North's in the project that are the user's own."""
        ...

    async def move(self, folder: str) -> str:
        """Have this conversation continue in another folder."""
        ...

    async def follow(self, folder: str) -> str:
        """Have the conversations of a folder that is gone continue in this one."""
        ...

    async def salvage(self) -> str:
        """Copy what can be read of this conversation into a new one."""
        ...

    async def log(self, lines: int, level: str, event: str) -> str:
        """Show the end of North's log: what is at or above a level, and whose name begins with `event`."""
        ...

    async def storage(self) -> str:
        """Show what North keeps, by area, in Markdown."""
        ...

    async def clean_storage(self) -> str:
        """Remove what North can do without, after a question."""
        ...

    def trust(self) -> str:
        """Say in words whether the workspace is trusted."""
        ...

    async def set_trust(self, *, on: bool) -> None: ...

    async def reload(self) -> str:
        """Read everything that can change on the disk again; say in Markdown what is there."""
        ...

    async def doctor(self) -> str:
        """Examine the installation; return what was found, in Markdown."""
        ...

    async def extensions(self) -> str:
        """List extensions and plugins, in Markdown."""
        ...

    async def context(self) -> str:
        """Say in Markdown what the next request has, part by part."""
        ...

    async def skills(self) -> str:
        """List skills, file commands and prompt templates, in Markdown."""
        ...

    async def rules(self) -> str:
        """List the rules and context files, with when they apply and why some do not."""
        ...

    async def set_rule(self, name: str, *, on: bool) -> str:
        """Switch a rule off or on in the user's settings."""
        ...

    def is_setting(self, name: str) -> bool: ...

    async def settings(self, query: str) -> str:
        """Show a setting by its name, those with the words of a query, or those that were changed, in Markdown."""
        ...

    async def set_setting(self, name: str, value: str, place: SettingPlace) -> str: ...

    async def reset_setting(self, name: str, place: SettingPlace | None) -> str:
        """Take a setting back, without a place from where its value comes from."""
        ...

    def plan(self) -> str:
        """Show the plan and where it is kept, in Markdown."""
        ...

    def todo(self) -> str:
        """Return the todo list in Markdown; empty if there is none."""
        ...

    async def open_todo(self) -> None:
        """Have a client in which the todo list can be edited open it."""
        ...

    async def set_todo(self, text: str) -> None:
        """Replace the todo list by one in Markdown."""
        ...

    async def change_todo(self, op: str, text: str) -> None:
        """Add a task, or start, finish, drop or remove the one whose text begins so."""
        ...

    def goal(self) -> str:
        """Return the goal in Markdown; empty if there is none."""
        ...

    async def set_goal(self, text: str) -> str:
        """Replace the goal by one in Markdown; an empty text drops it. Say which of its commands change files; empty
        if none does."""
        ...

    async def confirm_criterion(self, id: str) -> None:
        """Take the user's word that a criterion of the goal is met."""
        ...

    def continued_work(self) -> str:
        """Return the prompt that has the model continue the workflow, or else with the goal."""
        ...

    async def work(self) -> str:
        """Say where the workflow is, and list those of the project, in Markdown."""
        ...

    async def begin_work(self, name: str, words: str) -> str:
        """Begin a workflow; return the prompt that tells the model."""
        ...

    async def resume_work(self, slug: str) -> str:
        """Take a workflow of the project up in this conversation; return where it is."""
        ...

    async def stop_work(self) -> None: ...

    def active_skill(self) -> str:
        """Return the skill that is active with its phase, in Markdown; empty for none."""
        ...

    async def stop_skill(self) -> None:
        """Have no skill be active any more."""
        ...

    async def archive_work(self, slug: str) -> None: ...

    def jobs(self) -> str:
        """List what was started in the background, in Markdown."""
        ...

    async def end_job(self, id: str) -> str: ...

    async def servers(self) -> str:
        """List the MCP servers with their state and their tools, in Markdown."""
        ...

    async def switch_server(self, name: str, *, on: bool) -> str: ...

    async def reconnect_servers(self, name: str | None) -> str:
        """Connect to an MCP server again, or to all; say what came of it."""
        ...

    def server_log(self, name: str) -> str: ...

    async def add_server(self, name: str, entry: Mapping[str, object]) -> str:
        """Add an MCP server to the user's own, and connect to it; return what came of it, in Markdown."""
        ...

    async def remove_server(self, name: str) -> str: ...

    async def add_server_by_form(self, name: str) -> str:
        """Have the user say in a form how a server is reached, and add it."""
        ...

    async def sign_in_to_server(self, name: str) -> str:
        """Have the user sign in to an MCP server in a browser, and connect again; `/cancel` gives it up."""
        ...

    async def sign_out_of_server(self, name: str) -> str: ...

    @property
    def presets(self) -> Sequence[str]:
        """The names of the ready-made providers."""
        ...

    async def provider_names(self, preset: str) -> tuple[str, str]:
        """Return the name that a preset's provider gets, and one that is free: the same one unless it is taken."""
        ...

    async def plan_provider(self, preset: str, name: str, address: str | None, *, replace: bool) -> PlannedProvider: ...

    async def how_to_log_in(self, provider: str | None) -> str: ...

    async def sign_in_to_provider(self, provider: str) -> str | None:
        """Have the user sign in to a provider in a browser; None for one that wants a key."""
        ...

    def signed_in(self) -> Sequence[tuple[str, str]]:
        """Return the ids and names of the providers that the user is signed in to."""
        ...

    async def sign_out_of_provider(self, provider: str) -> None: ...

    async def stored_keys(self) -> Sequence[KnownKey]: ...

    async def forget_key(self, id: int) -> None: ...

    async def choose(self, question: str, options: Sequence[tuple[str, str]], detail: str = "") -> str | None:
        """Ask the user to choose; return the option's id, None if nobody chose. `detail` is Markdown below the
        question."""
        ...


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command. `run` gets the host and the words after the name. `hint` says which words there can be; with
    `is_private` they may be a key, and neither they nor the text around them go into the conversation. One that
    `is_harmless` changes nothing in this conversation, and runs also where that cannot be written, here or at all. One
    that `takes_text` gets all that follows its name as one word, with its quotation marks. With one of its
    `private_words`, it is private as well."""

    name: str
    description: str
    run: Callable[[Any, Sequence[str]], Awaitable[Reply]]
    hint: str = ""
    is_private: bool = False
    is_harmless: bool = False
    takes_text: bool = False
    private_words: frozenset[str] = frozenset()
