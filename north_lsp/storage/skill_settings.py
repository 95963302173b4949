"""The settings of skills."""

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.setting import setting


@dataclass(frozen=True)
class SkillSettings:
    """Which skills there are."""

    enabled: bool = setting(
        "skills.enabled",
        True,
        "Offer models skills, and call them with `/skill:<name>`.",
        strict=False,
        project="stricter",
    )
    commands: bool = setting(
        "skills.enableSkillCommands",
        True,
        "Let `/skill:<name>` call a skill; with `false` only models load them.",
        project="yes",
    )
    folders: tuple[str, ...] = setting(
        "skills.customDirectories",
        (),
        "Further folders of skills (absolute, or with `~`), and of folders of them.",
    )
    ignored: tuple[str, ...] = setting(
        "skills.ignoredSkills", (), "Wildcards of names of skills that are not used.", project="stricter"
    )
    included: tuple[str, ...] = setting(
        "skills.includeSkills", (), "Wildcards of names of the only skills that are used; empty: all of them."
    )
    native_user: bool = setting(
        "skills.enableNativeUser", True, "Use your own skills of North.", former=("skills.enablePiUser",)
    )
    native_project: bool = setting(
        "skills.enableNativeProject",
        True,
        "Use the project's skills of North.",
        former=("skills.enablePiProject",),
        project="yes",
    )
    claude_user: bool = setting(
        "skills.enableClaudeUser", True, "Use your own skills of Claude, and those of its plugins."
    )
    claude_project: bool = setting(
        "skills.enableClaudeProject", True, "Use the project's skills of Claude.", project="yes"
    )
    codex_user: bool = setting("skills.enableCodexUser", True, "Use your own skills of Codex.")

    def switch(self, provider: str, level: str) -> tuple[str, bool]:
        """Return the setting that switches a source of skills, and whether it is on; the source has none if the name is
        empty."""
        match provider, level:
            case "north", "user":
                return "skills.enableNativeUser", self.native_user
            case "north", _:
                return "skills.enableNativeProject", self.native_project
            case (("claude" | "claude-plugin"), "user"):
                return "skills.enableClaudeUser", self.claude_user
            case "claude", _:
                return "skills.enableClaudeProject", self.claude_project
            case "codex", "user":
                return "skills.enableCodexUser", self.codex_user
            case _:
                return "", True
