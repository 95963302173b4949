"""The settings of what a model plans with: the todo list, questions."""

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.setting import setting


@dataclass(frozen=True)
class PlanningSettings:
    """How planning works."""

    todo_enabled: bool = setting(
        "todo.enabled", True, "Offer models the tool `todo`, with which they keep a list.", project="yes"
    )
    todo_reminders: bool = setting(
        "todo.reminders",
        True,
        "Remind a model that stops while its todo list has open tasks, three times at most.",
        project="yes",
    )
    todo_clear_s: int = setting(
        "tasks.todoClearDelay",
        60,
        "After how many seconds VS Code and Neovim hide what is done or dropped in the todo list; 0: at once,"
        " below 0: never.",
        low=-86_400,
        high=86_400,
        restart=True,
    )
    plan_in_project: bool = setting(
        "plan.inProject",
        False,
        "Keep the plan of plan mode in `.north/plans/` of the project instead of with the conversation.",
        project="yes",
    )
    ask_timeout_s: int = setting(
        "ask.timeout",
        0,
        "After how many seconds a question of a model is answered with what it recommends; 0: it waits for you.",
        high=24 * 3600,
        strict=0,
    )
