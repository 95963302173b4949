"""The core: one conversation with one model, in one editor. It knows no protocol and no vendor.

The map, in the order in which a prompt goes through it. For a first reading, those with a star are enough:

    session *      a live conversation, its slash commands, its replay    session/session.py, session/intake.py
    exports        conversations as documents for people                  exports/export.py
    learning       what is learned of a project and remembered            learning/explorer.py
    subagents      agents that a model has work done by                   subagents/task.py
    turn *         model and tools until the model stops                  turn/turn.py
    stream_rules   rules that watch an answer while it streams            stream_rules/watch.py
    templates      what a user calls by name: skills, file commands       templates/conversation_templates.py
    context        what a model is told besides the conversation          context/conversation_context.py
    calls *        the tool calls of an answer, one result each           calls/dispatch.py
    servers        MCP servers, and which of their calls ask       servers/session_servers.py
    web            the web for models: hosts, pages, searching            web/fetching.py
    shell *        commands: approved, run, reported                      shell/run.py
    edits *        edits: reviewed, applied, undone                       edits/review.py
    planning       the todo list, questions, plans                        planning/planning.py
    approvals *    what the user decided, and what lasts of it            approvals/record.py
    compaction     making room in a conversation                          compaction/compactor.py
    models         which model answers                                    models/choice.py
    costs          what that costs                                        costs/account.py
    secrets        placeholders for what is secret                        secrets/secrets.py
    log *          entries, typed: to events, messages and Markdown       log/entries.py, log/projection.py
    ports *        what the core asks of an editor and shows it           ports/events.py, ports/editor.py
    prompts        texts for models alone                                 prompts/system.md

A room imports only rooms below it, and `models` and `costs` not each other (`.importlinter`). Only `log` knows the keys
of the log's file, only `ports/events.py` defines what an editor can be shown. A class takes the few things it uses, at
most seven. A vendor's own terms belong in `providers`, a protocol's in `acp` and `lsp`, which go through the session,
not around it. Nothing here may import those two, `rpc`, `server`, pygls or a vendor's SDK.
"""
