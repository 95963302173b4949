"""Settings of what models are told besides the conversation."""

from dataclasses import field
from functools import partial

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.item_names import named_items
from north_lsp.storage.setting import setting
from north_lsp.storage.skill_settings import SkillSettings

_KINDS = ("rule", "skill", "command", "prompt", "agent", "mcp")


@dataclass(frozen=True)
class ContextSettings:
    """Rules, context files, and the editor's state."""

    editor_state: bool = setting(
        "context.editorState",
        True,
        "Tell the model what your editor shows: the active file with the cursor and what is selected, the open files, "
        "the last edits, and the problems in the active file.",
        strict=False,
        project="stricter",
    )
    disabled_rules: tuple[str, ...] = setting(
        "disabledRules",
        (),
        "Names of rules that models are not told; `/rules` lists all of them.",
        former=("ttsr.disabledRules",),
    )
    disabled_items: tuple[str, ...] = setting(
        "disabledItems",
        (),
        "What is not used, as `rule:<name>`, `skill:<name>`, `command:<name>`, `prompt:<name>`, `agent:<name>` or "
        "`mcp:<name>`; `/rules`, `/skills`, `/agents` and `/mcp` list all there is.",
        parse=partial(named_items, kinds=_KINDS),
        schema={"type": "array", "items": {"type": "string", "pattern": f"^({'|'.join(_KINDS)}):."}},
    )
    max_rule_bytes: int = setting(
        "rules.maxBytes",
        30 * 1024,
        "How many bytes the rules that always apply may have together; the rest is cut.",
        low=0,
        high=256 * 1024,
    )
    offer_profile: bool = setting(
        "profile.offer",
        True,
        "Ask once, after the first answer in a project, whether a model is to explore it for a profile (`/learn`). "
        "`NORTH_NO_OFFER=1` does the same as `false`.",
        strict=False,
        project="stricter",
    )
    skills: SkillSettings = field(default_factory=SkillSettings)
