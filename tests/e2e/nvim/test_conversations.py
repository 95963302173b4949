"""Conversations in the Neovim plugin: found by a word that was said, gone on with, renamed, archived, deleted."""

import json

from tests.e2e.nvim.nvim_driver import Nvim
from tests.e2e.nvim.test_plugin import IDLE, PLUGIN, Bed, ask, asked, bed, chat, in_chat, replace_select
from tests.e2e.nvim.with_model import model, nvim_with
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer

__all__ = ["bed", "model"]

WINBAR = """vim.iter(vim.api.nvim_list_wins()):any(function(window)
  return vim.wo[window].winbar:find([==[%s]==], 1, true) ~= nil
end)"""
PROMPT = "require('helpers').text('north://prompt')"


def converse(nvim: Nvim, text: str, answer: str) -> None:
    ask(nvim, text)
    nvim.until(in_chat(answer))
    nvim.until(IDLE)


def two_conversations(nvim: Nvim) -> None:
    """One that is over, about greetings, and one that is shown."""
    converse(nvim, "explain greet", "is defined in")
    nvim.command("North new")
    nvim.until(f"not {in_chat('greet')}")
    converse(nvim, "list files", "✓ Listed")


def messages(nvim: Nvim) -> str:
    return str(nvim.lua("return vim.api.nvim_exec2('messages', { output = true }).output"))


def names(nvim: Nvim, picker: int = -1) -> list[str]:
    pickers = asked(nvim)
    return [str(name) for name in pickers[picker]["names"]] if pickers else []  # type: ignore[attr-defined]


def choose_first(nvim: Nvim, *choices: str) -> None:
    """Take the first row of the first picker, then these."""
    nvim.lua(
        """
        local helpers, choices = require('helpers'), ...
        helpers.replace_select(choices)
        local select = vim.ui.select
        local is_first = true
        vim.ui.select = function(items, options, choose)
          if is_first then
            is_first = false
            table.insert(helpers.asked, { prompt = options.prompt, names = vim.tbl_map(options.format_item, items) })
            return choose(items[1], 1)
          end
          select(items, options, choose)
        end
        """,
        list(choices),
    )


def test_a_word_of_an_old_answer_finds_its_conversation(bed: Bed) -> None:
    with bed.nvim() as nvim:
        two_conversations(nvim)
        choose_first(nvim)
        nvim.command("North resume defined greet")
        nvim.until(in_chat("is defined in"))
        nvim.until(IDLE)
        (row,) = names(nvim)
        assert row.startswith("explain greet  (just now, ")
        assert " messages" in row
        assert "## You\n\nlist files" not in chat(nvim)
        converse(nvim, "find SALUTATION", "SALUTATION")
        assert "explain greet" in chat(nvim)
    logs = sorted((bed.folder / "data" / "conversations").glob("*.jsonl"))
    said = [log.read_text() for log in logs]
    assert sum("explain greet" in text and "find SALUTATION" in text for text in said) == 1


def test_nothing_found_is_said(bed: Bed) -> None:
    with bed.nvim() as nvim:
        replace_select(nvim)
        nvim.command("North conversations")
        nvim.until("vim.api.nvim_exec2('messages', { output = true }).output:find('none here yet') ~= nil")
        converse(nvim, "list files", "✓ Listed")
        nvim.command("North conversations zebra")
        nvim.until("vim.api.nvim_exec2('messages', { output = true }).output:find('has \"zebra\" in it') ~= nil")
        assert asked(nvim) == []


def test_one_is_renamed_archived_and_deleted(bed: Bed) -> None:
    with bed.nvim() as nvim:
        two_conversations(nvim)
        nvim.lua("vim.ui.input = function(_, done) done('The greetings') end")
        choose_first(nvim, "Rename …")
        nvim.command("North conversations greet defined")
        nvim.until("vim.api.nvim_exec2('messages', { output = true }).output:find('title is now The greetings') ~= nil")
        assert names(nvim) == ["Open", "Open in a tab page of its own", "Rename …", "Archive", "Delete …"]
        choose_first(nvim, "Archive")
        nvim.command("North conversations greetings")
        nvim.until("vim.api.nvim_exec2('messages', { output = true }).output:find('it is archived') ~= nil")
        choose_first(nvim, "Delete …", "Delete it")
        nvim.command("North conversations greetings --archived")
        nvim.until("vim.api.nvim_exec2('messages', { output = true }).output:find('trash for 30 days') ~= nil")
        nvim.command("North rename Files of it")
        nvim.until("vim.api.nvim_exec2('messages', { output = true }).output:find('title is now Files of it') ~= nil")
    trash = bed.folder / "data" / "conversations" / "trash"
    (log,) = trash.glob("*/*.jsonl")
    titles = [json.loads(line).get("title") for line in log.read_text().splitlines() if "title_changed" in line]
    assert titles[-1] == "The greetings"


def test_a_deleted_one_is_restored_and_shown(bed: Bed) -> None:
    with bed.nvim() as nvim:
        two_conversations(nvim)
        replace_select(nvim)
        nvim.command("North restore")
        nvim.until("vim.api.nvim_exec2('messages', { output = true }).output:find('no such conversation in') ~= nil")
        choose_first(nvim, "Delete it")
        nvim.command("North delete greet defined")
        nvim.until("vim.api.nvim_exec2('messages', { output = true }).output:find('trash for 30 days') ~= nil")
        choose_first(nvim)
        nvim.command("North restore greet")
        nvim.until(in_chat("is defined in"))
        nvim.until(IDLE)
        (row,) = names(nvim)
        assert row.startswith("explain greet  (deleted just now, just now, ")
    assert list((bed.folder / "data" / "conversations" / "trash").iterdir()) == []


def test_a_log_is_imported_and_shown(bed: Bed) -> None:
    with bed.nvim() as nvim:
        two_conversations(nvim)
        folder = bed.folder / "data" / "conversations"
        (log,) = [one for one in folder.glob("*.jsonl") if "explain greet" in one.read_text()]
        file = bed.folder / "damaged.jsonl"
        file.write_text("not a header\n" + log.read_text().partition("\n")[2])
        replace_select(nvim, "Copy what can be read")
        nvim.command(f"North import {file}")
        nvim.until(in_chat("is defined in"))
        nvim.until(IDLE)
        assert "damaged.jsonl was not imported: line 1" in str(asked(nvim)[0]["prompt"])
        assert "North: one line could not be read" in messages(nvim)
        nvim.command("North import /no/such/file")
        nvim.until("vim.api.nvim_exec2('messages', { output = true }).output:find('file not found') ~= nil")


def test_one_of_another_folder_is_copied_into_the_project(bed: Bed) -> None:
    other = bed.folder / "other"
    other.mkdir()
    with bed.nvim() as nvim:
        two_conversations(nvim)
    folder = bed.folder / "data" / "conversations"
    (log,) = [one for one in folder.glob("*.jsonl") if "explain greet" in one.read_text()]
    header = json.loads(log.read_text().split("\n")[0])
    place = {"repoRoot": str(other), "repoHash": "0" * 16, "cwd": str(other), "rootInode": None}
    moved = {"type": "session_moved", "id": "ffffffff", "timestamp": header["timestamp"], **place}
    log.write_text(log.read_text() + json.dumps(moved) + "\n")
    with bed.nvim() as nvim:
        choose_first(nvim, "Copy it into this project")
        nvim.command("North resume greet defined --all")
        nvim.until(in_chat("is defined in"))
        nvim.until(IDLE)
        assert names(nvim) == ["Copy it into this project", "Open it with its own folder", "Leave it"]
    (copy,) = [one for one in folder.glob("*.jsonl") if '"relation":"fork"' in one.read_text().replace(": ", ":")]
    assert header["id"] in copy.read_text().split("\n")[0]


def test_one_whose_folder_is_gone_goes_on_here_or_where_the_user_says(bed: Bed) -> None:
    with bed.nvim() as nvim:
        two_conversations(nvim)
    folder, renamed = bed.folder / "data" / "conversations", bed.folder / "renamed"
    renamed.mkdir()
    header = json.loads(next(folder.glob("*.jsonl")).read_text().split("\n")[0])
    place = {"repoRoot": "/no/such", "repoHash": "0" * 16, "cwd": "/no/such", "rootInode": None}
    message = {"role": "user", "content": [{"type": "text", "text": "about numbats"}]}
    entry = {"type": "message", "id": "1", "parentId": None, "timestamp": header["timestamp"], "message": message}
    for id in ("90ne01", "90ne02"):
        (folder / f"{id}.jsonl").write_text(f"{json.dumps(header | place | {'id': id})}\n{json.dumps(entry)}\n")

    def belongs(id: str) -> str:
        rows = [json.loads(line) for line in (folder / f"{id}.jsonl").read_text().splitlines()]
        return str([row["cwd"] for row in rows if row["type"] == "session_moved"][-1])

    with bed.nvim() as nvim:
        for answer, typed, there in (
            ("Continue it here", "", str(bed.project)),
            ("Name its folder …", "/no/such/either", ""),
            ("Name its folder …", str(renamed), str(renamed)),
        ):
            nvim.command("North new")
            nvim.lua("local typed = ...; vim.ui.input = function(_, done) done(typed) end", typed)
            replace_select(nvim, answer)
            id = "90ne01" if not typed else "90ne02"
            nvim.command(f"North resume {id}")
            if not there:
                nvim.until(
                    "vim.api.nvim_exec2('messages', { output = true }).output:find('no folder /no/such/e') ~= nil"
                )
                continue
            nvim.until(in_chat("about numbats"))
            nvim.until(IDLE)
            (asked_once,) = asked(nvim)
            assert asked_once["prompt"] == "It is about /no/such, which is gone"
            assert names(nvim) == ["Continue it here", "Name its folder …", "Leave it"]
            assert belongs(id) == there


def test_what_was_shown_last_goes_on_after_neovim_was_left(bed: Bed) -> None:
    with bed.nvim() as nvim:
        two_conversations(nvim)
        nvim.lua("require('north.conversation').stop()")
    with bed.nvim() as nvim:
        nvim.command("North continue")
        nvim.until(in_chat("## You\n\nlist files"))
        assert "explain greet" not in chat(nvim)


def test_slash_commands_switch_the_conversation(bed: Bed) -> None:
    with bed.nvim() as nvim:
        two_conversations(nvim)
        ids = {
            log.stem for log in (bed.folder / "data" / "conversations").glob("*.jsonl") if "explain" in log.read_text()
        }
        (old,) = ids
        ask(nvim, f"/resume {old}")
        nvim.until(in_chat("is defined in"))
        ask(nvim, "/new")
        nvim.until(f"not {in_chat('is defined in')}")


def test_a_conversation_is_closed_with_quit_and_stays_stored(bed: Bed) -> None:
    with bed.nvim() as nvim:
        two_conversations(nvim)
        nvim.until("#vim.api.nvim_list_wins() > 1")
        ask(nvim, "/quit")
        nvim.until("#vim.api.nvim_list_wins() == 1")
        nvim.command("North continue")
        nvim.until(in_chat("## You\n\nlist files"))


def test_prompts_that_were_sent_come_back(bed: Bed) -> None:
    with bed.nvim() as nvim:
        two_conversations(nvim)
        nvim.command("North")
        nvim.keys("iwhat I write<C-p>")
        nvim.until(f"{PROMPT} == 'list files'")
        nvim.keys("<Up>")
        nvim.until(f"{PROMPT} == 'explain greet'")
        nvim.keys("<C-p>")  # there is none before it
        nvim.keys("<Down>")
        nvim.until(f"{PROMPT} == 'list files'")
        nvim.keys("<C-n>")
        nvim.until(f"{PROMPT} == 'what I write'")
        nvim.keys("<C-p>")
        nvim.until(f"{PROMPT} == 'list files'")
        nvim.keys("<CR>")
        nvim.until(f"{PROMPT} == ''")
        nvim.until(IDLE)
        assert chat(nvim).count("## You\n\nlist files") == 2


def test_what_is_changed_of_prompts_that_were_sent_and_the_draft_stay(bed: Bed) -> None:
    with bed.nvim() as nvim:
        two_conversations(nvim)
        nvim.command("North")
        nvim.keys("iwhat I write<C-p>")
        nvim.until(f"{PROMPT} == 'list files'")
        nvim.keys(" again<C-p>")
        nvim.until(f"{PROMPT} == 'explain greet'")
        nvim.keys(" shortly<C-n>")
        nvim.until(f"{PROMPT} == 'list files again'")
        nvim.keys("<C-p>")
        nvim.until(f"{PROMPT} == 'explain greet shortly'")
        nvim.keys("<C-n><C-n>")
        nvim.until(f"{PROMPT} == 'what I write'")
        nvim.keys(" now<C-p>")
        nvim.until(f"{PROMPT} == 'list files again'")
        nvim.keys("<CR>")
        nvim.until(f"{in_chat('list files again')} and {PROMPT} == '' and {IDLE}")
        nvim.keys("i<C-p>")  # the draft was not sent
        nvim.until(f"{PROMPT} == 'what I write now'")
        nvim.keys("<C-p>")
        nvim.until(f"{PROMPT} == 'list files again'")


def test_what_comes_back_while_a_prompt_that_was_sent_is_shown_stands_above_it(bed: Bed) -> None:
    with bed.nvim() as nvim:
        two_conversations(nvim)
        nvim.command("North")
        nvim.keys("iwhat I write<C-p>")
        nvim.until(f"{PROMPT} == 'list files'")
        nvim.lua("require('north.prompt').restore('not sent')")
        nvim.keys("<C-p>")
        nvim.until(f"{PROMPT} == 'what I write'")
        nvim.keys("<C-n>")
        nvim.until(f"{PROMPT} == 'not sent\\n\\nlist files'")


def test_what_waits_goes_into_the_input_when_another_conversation_takes_the_place(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("Listed.")), answer(Say("I will look"), Gate("never")))
    with nvim_with(bed, model) as nvim:
        converse(nvim, "list files", "Listed.")
        ask(nvim, "explain greet")
        nvim.until(in_chat("I will look"))  # before its turn, it would come back, too
        for text in ("find greet", "list files again"):
            ask(nvim, text)
        nvim.command("North new")
        nvim.until(f"{PROMPT} == 'find greet\\n\\nlist files again'")
        assert "explain greet" not in chat(nvim)


def test_ages(bed: Bed) -> None:
    with bed.nvim(init=f"vim.opt.runtimepath:prepend([[{PLUGIN}]])") as nvim:
        script = "return require('north.conversations').ago(...)"
        noon = 1_765_368_000  # 2025-12-10T12:00:00Z
        cases = {
            "2025-12-10T11:59:30.000Z": "just now",
            "2025-12-10T11:58:30.000Z": "1 minute ago",
            "2025-12-10T10:00:00.000Z": "2 hours ago",
            "2025-12-08T12:00:00.000Z": "2 days ago",
            "2025-11-08T12:00:00.000Z": "on 2025-11-08",
            "nonsense": "at an unknown time",
        }
        for moment, words in cases.items():
            assert nvim.lua(script, moment, noon) == words


def test_one_that_is_open_elsewhere_is_followed_and_taken_over(bed: Bed, model: ModelServer) -> None:
    model.script(answer(Say("I will look. "), Gate("go"), Say("There it is.")), answer(Say("All files.")))
    state = {"XDG_STATE_HOME": str(bed.folder / "nvim-state")}
    with nvim_with(bed, model, **state) as first:
        ask(first, "explain greet")
        first.until(in_chat("I will look"))
        id = first.lua("return require('north.state').session_id")
        with nvim_with(bed, model, **state) as second:
            second.keys(f":North resume {id}<CR>")
            second.until(WINBAR % "Open elsewhere (Neovim, process ")
            second.until(in_chat("I will look"))
            model.open("go")
            first.until(IDLE)
            second.until(in_chat("There it is."))
            second.keys(":North takeover<CR>")
            second.until(IDLE)
            ask(second, "list files")
            second.until(f"{in_chat('All files.')} and {IDLE}")
            first.until(in_chat("All files."))
            first.until(WINBAR % "Open elsewhere (Neovim, process ")
