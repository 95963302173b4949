"""The core: one conversation with one model, in one editor. It knows no protocol and no vendor.

The map, in the order in which a prompt goes through it, and in which to read it:

    session     a live conversation, its slash commands, its replay    session/session.py
    turn        model and tools until the model stops                  turn/turn.py
    calls       the tool calls of an answer, one result each           calls/dispatch.py
    shell       commands: approved, run, reported                      shell/run.py
    edits       edits: reviewed, applied, undone                       edits/review.py
    approvals   what the user decided, and what lasts of it            approvals/record.py
    models | costs   which one answers; its cost                       models/choice.py, costs/account.py
    log         entries, typed: to events, messages and Markdown       log/entries.py, log/projection.py
    ports       what the core asks of an editor and shows it           ports/events.py, ports/editor.py

A room imports only rooms below it (`.importlinter`). Only `log` knows the keys of the log's file, only
`ports/events.py` defines what an editor can be shown. A class takes the few things it uses, at most seven. A vendor's
own terms belong in `providers`, a protocol's in `acp` and `lsp`, which go through the session, not around it. Nothing
here may import those two, `rpc`, `server`, pygls or a vendor's SDK.
"""
