"""The templates of one conversation, read again when they are needed, and the calls of them in prompts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp import systems
from north_lsp.agent.context.above import place_above
from north_lsp.agent.context.documents import Place, cut, plain
from north_lsp.agent.log.messages import News
from north_lsp.agent.log.prompt import FileLink, Part, TextPart, typed
from north_lsp.agent.prompts import render
from north_lsp.agent.templates.bundled_templates import bundled_templates
from north_lsp.agent.templates.expansion import MAX_BYTES, expanded, mentions, with_commands_named
from north_lsp.agent.templates.skills import (
    list_of_skills,
    news_of_skills,
    skill_file,
    skill_path,
    skills_in_full,
    unwanted,
)
from north_lsp.agent.templates.sources import (
    custom_skills,
    plugin_templates,
    project_templates,
    templates_above,
    user_templates,
)
from north_lsp.agent.templates.template import NO_WISHES, Template, Templates, Wishes
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.slash.parsing import split_name
from north_lsp.storage.context_settings import ContextSettings
from north_lsp.storage.kinds import Loaded, Loader
from north_lsp.storage.locations import Locations
from north_lsp.storage.plugins import find_plugins
from north_lsp.storage.trust import Trust
from north_lsp.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Called:
    """What a call of the template `name` stands for: `text` for the model, the `paths` of files that belong to it, and
    the `commands` whose output does."""

    name: str
    text: str
    paths: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


class ConversationTemplates:
    """Finds and calls the templates of one conversation. `taken` are the names of North's own commands. A workspace
    that is not trusted has no templates of its own."""

    def __init__(
        self,
        workspace: Workspace,
        locations: Locations,
        environ: Mapping[str, str],
        trust: Trust,
        taken: Collection[str],
        settings: Callable[[], ContextSettings] = ContextSettings,
    ) -> None:
        self._workspace = workspace
        self._locations = locations
        self._environ = environ
        self._trust = trust
        self._taken = taken
        self._settings = settings
        self._one_at_a_time = anyio.Lock()
        self.all: Sequence[Template] = ()
        self.problems: Sequence[str] = ()

    async def load(self) -> bool:
        """Read the files again; return whether anything is different."""
        async with self._one_at_a_time:  # what was read before the trust changed must not come out last
            before = self.all
            loaded = await anyio.to_thread.run_sync(self._load)
            self.all, self.problems = loaded.all, loaded.problems
            return self.all != before

    @property
    def callable(self) -> Sequence[Template]:
        """The templates that can be called, sorted by name."""
        return sorted((one for one in self.all if one.applies), key=lambda one: one.name)

    @property
    def offered(self) -> Sequence[Template]:
        """The templates that a prompt can call, sorted by name."""
        return [one for one in self.callable if self._may_be_typed(one)]

    def find(self, name: str) -> Template | None:
        """Find the text that a prompt can call."""
        return next((one for one in self.offered if one.name == name and one.kind != "python"), None)

    def find_python(self, name: str) -> Template | None:
        """Find the command in Python that a prompt can call."""
        return next((one for one in self.offered if one.name == name and one.kind == "python"), None)

    def _may_be_typed(self, template: Template) -> bool:
        return template.kind != "skill" or self._settings().skills.commands

    def called(self, text: str) -> Called | None:
        """Return what a prompt stands for that begins with the name of a template; None for any other."""
        name, words = split_name(text) or ("", "")
        if (template := self.find(name)) is None:
            return None
        head = f"[The user called /{template.name}, {_origin(template)}. It says:]"
        text, commands = _text(template, words.strip())
        return Called(
            template.name,
            f"{head}\n{_fitted(template, text)}",
            tuple(path for path in mentions(template.body) if self._is_there(path)),
            tuple(commands),
        )

    def taken(self, parts: tuple[Part, ...]) -> tuple[tuple[Part, ...], str]:
        """Return the parts of a prompt as they go into the conversation, and the text of the template that it calls. A
        name behind a backslash is no call, and loses its backslash."""
        words = next((part for part in parts if isinstance(part, TextPart)), None)
        if words is None or words.is_made:
            return parts, ""
        if (called := self.called(words.text)) is not None:
            return (*parts, *map(FileLink, called.paths)), called.text
        bare = words.text.strip().removeprefix("\\")
        if bare != words.text.strip() and self.called(bare) is not None:
            return tuple(TextPart(bare) if part is words else part for part in parts), ""
        return parts, ""

    def wishes(self, text: str) -> tuple[Wishes, Template | None]:
        """Return what the template that a prompt calls wants of its turn, and which one that is."""
        template = self.find((split_name(text) or ("", ""))[0])
        return (NO_WISHES, None) if template is None else (template.wishes, template)

    def stands_alone(self, parts: tuple[Part, ...]) -> bool:
        """Tell whether a prompt calls a template that says what holds for its turn, or has commands run before it."""
        words = "".join(typed(parts)[:1])
        called = self.called(words)
        return called is not None and (bool(called.commands) or self.wishes(words)[0] != NO_WISHES)

    def skill_in(self, parts: tuple[Part, ...]) -> Template | None:
        """Return the skill that a prompt calls; None for any other."""
        words = "".join(typed(parts)[:1])
        found = self.find((split_name(words) or ("", ""))[0])
        return found if found is not None and found.kind == "skill" else None

    async def skills_for_model(self) -> str:
        """Read the files again, and list the skills for a model; empty without any."""
        await self.load()
        lines, always = list_of_skills(self.callable), skills_in_full(self.callable, self._settings().max_rule_bytes)
        if not lines and not always:
            return ""
        return render("skills", skills=[{"line": line} for line in lines], always=always)

    def news_for(self, paths: Sequence[Path]) -> Sequence[News]:
        """Return what a model has to know of the skills that are about files, as of the last time they were read."""
        return news_of_skills(self.callable, paths, self._workspace.roots.roots)

    def skill(self, address: str) -> str:
        """Read what is at `skill://`. Raises ToolError NOT_FOUND naming what there is."""
        return skill_file(address, self.known_skills(), self._gate)

    def skill_path(self, address: str) -> Path:
        """Return the file that stands behind `skill://`. Raises ToolError NOT_FOUND naming what there is."""
        return skill_path(address, self.known_skills(), self._gate)

    def known_skills(self) -> list[Template]:
        """Read the files again, and return the skills that can be loaded, by name. To be called in a thread."""
        found = (one for one in self._load().used if one.kind == "skill")
        return sorted(found, key=lambda one: one.name)

    def _load(self) -> Loaded[Template]:
        settings, decided = self._settings(), self._trust.decided()

        def why_not(one: Template) -> str:
            if one.kind == "skill":
                return unwanted(one, settings.skills)
            waits = one.kind == "python" and one.level == "project" and one.applies and decided is None
            return "it runs only in a workspace that you trust: `/trust on`" if waits else ""

        may_read = decided is None or decided[0]
        place = Place("project", self._resolve) if may_read else None
        kind = Templates(self._taken, settings.disabled_items, why_not)
        return kind.load(self._loaders(place, settings.skills.folders))

    def _loaders(self, place: Place | None, custom: Sequence[str]) -> Iterator[Loader[Template]]:
        """Return what reads all templates; `place` decides what of the project may be read, None: nothing of it."""
        home = systems.home(self._environ)
        yield Loader("builtin", bundled_templates)
        yield from user_templates(self._locations, home)
        roots = self._workspace.roots.roots
        if place is not None:
            above = place_above(roots)
            for each in roots:
                yield from project_templates(each, place)
                yield from templates_above(each, above)
        plugins = find_plugins(self._workspace.roots.main, home, self._locations, of_project=place is not None)
        yield from plugin_templates(plugins.used, place)
        yield from custom_skills(custom, home)

    def _resolve(self, path: Path) -> tuple[Path, str]:
        resolved = self._workspace.trees.resolve(str(path))
        return resolved.path, resolved.relative

    def _gate(self, path: Path) -> tuple[Path, str]:
        """Return the real path and the shown one of a file of the project, or of one above it in its repository. Raises
        ToolError for what may not be read."""
        roots = self._workspace.roots.roots
        is_inside = any(path.is_relative_to(root) for root in roots)
        return self._resolve(path) if is_inside else place_above(roots).resolve(path)

    def _is_there(self, path: str) -> bool:
        try:
            return self._workspace.trees.resolve(path).path.exists()
        except ToolError:
            return False


def _origin(template: Template) -> str:
    if template.provider == "builtin":
        return "a command of North's"
    whose = "the user's own" if template.level == "user" else "this project's"
    return f"{whose} {template.kind} {template.shown}"


def text_of(template: Template, words: str) -> str:
    """Return what a call of a template says to a model, as far as there is room."""
    return _fitted(template, _text(template, words)[0])


def _fitted(template: Template, text: str) -> str:
    return cut(plain(text), MAX_BYTES, f"[truncated: read {template.shown}]")


def _text(template: Template, words: str) -> tuple[str, Sequence[str]]:
    """Return the text of a call, and the commands whose output it wants."""
    if template.kind != "skill":
        text, commands = with_commands_named(template.body, words)
        return expanded(text, words), commands
    given = f"\nUser: {words}" if words else ""
    return f"{template.body}\n\nSkill: {template.shown}{given}", ()
