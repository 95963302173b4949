"""A project's profile as a part of the system text, and whether it is too old to be believed."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

from north_lsp.agent.context.documents import cut, framed
from north_lsp.agent.context.own_prompt import OwnText
from north_lsp.agent.context.project import ProjectContext
from north_lsp.agent.prompts import render
from north_lsp.display import one_line
from north_lsp.storage.locations import Locations
from north_lsp.storage.project_profile import Profile, ProfileFile
from north_lsp.workspace.git import run_git
from north_lsp.workspace.project_root import project_hash

MAX_BYTES = 24 * 1024
_MOST_DAYS = 60
_MOST_COMMITS = 500
_CUT = "[truncated: the profile is too long]"
_GIT_SECONDS = 2.0


def with_profile(project: ProjectContext, locations: Locations, root: Path) -> ProjectContext:
    """Add the project's profile, if there is one; takes a moment. One that cannot be read is a problem to be told."""
    file = ProfileFile(locations, project_hash(root))
    try:
        profile = file.read()
    except OSError as error:
        told = f"the project's profile {one_line(str(file.path), 300)} cannot be read: {error.strerror or error}"
        return replace(project, problems=(*project.problems, told))
    if profile is None:
        return project
    text = profile_text(profile, why_outdated(profile, root, date.today()))
    return replace(project, profile=OwnText(text, one_line(str(file.path), 300)))


def profile_text(profile: Profile, outdated: str) -> str:
    """Render a profile; `outdated` says why it may be outdated, empty if it is not."""
    text = profile.text.removeprefix("# Project Profile").strip()
    return render("profile", text=framed("project", cut(text, MAX_BYTES, _CUT)), outdated=outdated)


def why_outdated(profile: Profile, root: Path, today: date) -> str:
    """Say in words why a profile may be outdated; empty if it is not. May ask git, so call it in a thread."""
    days = (today - profile.learned).days
    if days > _MOST_DAYS:
        return f"it is {days} days old"
    if profile.commit is None:
        return ""
    since = run_git(["rev-list", "--count", f"{profile.commit}..HEAD"], root, _GIT_SECONDS)
    count = int(since) if since is not None and since.strip().isdecimal() else 0
    return f"there were {count:,} commits since" if count > _MOST_COMMITS else ""
