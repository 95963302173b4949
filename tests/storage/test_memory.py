"""What is kept for memories: who works on one, what was read, and files that their user changes."""

from pathlib import Path

import pytest

from north_lsp.storage.locations import Locations
from north_lsp.storage.memory_files import MEMORY, NOTES, SUMMARY, MemoryFiles
from north_lsp.storage.memory_jobs import LEASE_SECONDS, MemoryJobs, Thread


def test_one_process_at_a_time_works_on_a_project(store: Locations) -> None:
    jobs, others = MemoryJobs(store, "p"), MemoryJobs(store, "other")
    assert jobs.lease("a", 1000)
    assert not jobs.lease("b", 1000 + LEASE_SECONDS)
    assert jobs.lease("a", 1500)  # renewed
    assert not jobs.lease("b", 1500 + LEASE_SECONDS)
    assert others.lease("b", 1500)
    assert jobs.lease("b", 1501 + LEASE_SECONDS)  # the first one died
    jobs.release("a", finished=True)  # too late: not its own any more
    assert not jobs.lease("a", 1502 + LEASE_SECONDS)
    jobs.release("b", finished=False)
    assert jobs.lease("a", 1503 + LEASE_SECONDS)


def test_a_lease_is_only_renewed_while_it_is_the_owners(store: Locations) -> None:
    jobs = MemoryJobs(store, "p")
    assert not jobs.renew("a", 1000)
    assert jobs.lease("a", 1000)
    assert jobs.renew("a", 1500)
    assert not jobs.lease("b", 1500 + LEASE_SECONDS)
    assert jobs.lease("b", 1501 + LEASE_SECONDS)  # the first one took too long
    assert not jobs.renew("a", 1502 + LEASE_SECONDS)
    jobs.forget()  # the memory was removed
    assert not jobs.renew("b", 1503 + LEASE_SECONDS)


def test_what_is_wanted_is_wanted_until_a_run_has_finished(store: Locations) -> None:
    jobs = MemoryJobs(store, "p")
    assert not jobs.is_forced()
    jobs.force()
    for finished, still in ((False, True), (True, False)):
        assert jobs.lease("a")
        jobs.release("a", finished=finished)
        assert jobs.is_forced() is still


def test_what_was_read_is_kept_by_project(store: Locations) -> None:
    jobs = MemoryJobs(store, "p")
    assert jobs.threads() == {}
    jobs.keep(Thread("one", 3, "abc"))
    jobs.keep(Thread("two", 4, "def", "- lasts", "about"))
    jobs.keep(Thread("one", 5, "xyz", "- now", "changed"))
    assert [(one.conversation, one.size, one.memory) for one in jobs.threads().values()] == [
        ("two", 4, "- lasts"),
        ("one", 5, "- now"),
    ]
    assert MemoryJobs(store, "other").threads() == {}
    jobs.keep_texts({"a": "x", "b": "y"})
    jobs.keep_texts({"a": "z"})
    assert jobs.texts() == {"a": "z"}
    jobs.forget(("threads",))
    assert (jobs.threads(), jobs.texts()) == ({}, {"a": "z"})
    jobs.forget()
    assert jobs.texts() == {}


def test_files_are_written_and_skills_that_are_not_named_go(store: Locations) -> None:
    files = MemoryFiles(store, "p")
    assert files.names() == []
    first = files.write({MEMORY: "m\n", SUMMARY: "s\n", "skills/a/SKILL.md": "a\n", "skills/b/SKILL.md": "b\n"}, {})
    assert files.names() == [SUMMARY, MEMORY, "skills/a/SKILL.md", "skills/b/SKILL.md"]
    (files.folder / "skills/b/SKILL.md").write_text("changed by the user\n")
    second = files.write({MEMORY: "m2\n", SUMMARY: "s2\n"}, first)
    assert files.names() == [SUMMARY, MEMORY, "skills/b/SKILL.md"]
    assert files.read(MEMORY) == "m2\n"
    files.write({MEMORY: "m3\n", SUMMARY: "s3\n"}, second)
    assert files.read("skills/b/SKILL.md") == "changed by the user\n"
    assert (files.folder / MEMORY).stat().st_mode & 0o777 == 0o600


def test_what_the_user_keeps_beside_a_skill_stays_when_the_skill_goes(store: Locations) -> None:
    files = MemoryFiles(store, "p")
    first = files.write({"skills/a/SKILL.md": "a\n", "skills/b/SKILL.md": "b\n"}, {})
    (files.folder / "skills/a/script.sh").write_text("mine\n")
    files.write({MEMORY: "m\n"}, first)
    assert files.names() == [MEMORY]
    assert (files.folder / "skills/a/script.sh").read_text() == "mine\n"
    assert not (files.folder / "skills/b").exists()


def test_what_the_user_wrote_stays_and_what_they_took_out_stays_out(store: Locations) -> None:
    files = MemoryFiles(store, "p")
    before = files.write({MEMORY: "# A\n- one\n- two\n"}, {})
    (files.folder / MEMORY).write_text("# A\n- two\n- mine\n")
    after = files.write({MEMORY: "# A\n- one\n- two\n- three\n"}, before)
    assert files.read(MEMORY) == "# A\n- two\n- three\n\n## Your changes\n\n- mine\n"
    assert (files.folder / f"{MEMORY}.bak").read_text() == "# A\n- two\n- mine\n"
    # The next run takes the line over: it is there once, and no heading is left.
    again = files.write({MEMORY: "# A\n- two\n- mine\n"}, after)
    assert files.read(MEMORY) == "# A\n- two\n- mine\n"
    # A later one leaves it out, and has the other one again: what the user did still holds.
    files.write({MEMORY: "# A\n- one\n- four\n"}, again)
    assert files.read(MEMORY) == "# A\n- four\n\n## Your changes\n\n- mine\n"


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "skills/../MEMORY.md", "skills/A/SKILL.md", "skills/a/x", ""])
def test_no_other_file_is_read(name: str, store: Locations) -> None:
    with pytest.raises(ValueError, match="a memory has no file"):
        MemoryFiles(store, "p").read(name)


def test_notes_are_added_and_links_are_not_followed(store: Locations, tmp_path: Path) -> None:
    files = MemoryFiles(store, "p")
    files.add_note("- one")
    files.add_note("- two")
    assert files.read(NOTES) == "- one\n- two\n"
    files.remove()
    files.remove()
    assert files.names() == []
    outside = tmp_path / "outside"
    outside.write_text("")
    files.folder.mkdir(parents=True)
    (files.folder / NOTES).symlink_to(outside)
    with pytest.raises(OSError, match="symbolic"):
        files.add_note("- three")
    assert outside.read_text() == ""
