"""The conversation's log, typed: its entries (`entries.py`, and a file for each family of kinds), what is written
(`log.py`), and what is made of them: what people are shown (`projection.py`), what models get (`transcript.py`), what
was seen of files (`remembering.py`), Markdown (`export.py`).

Only this room spells a key of the file. Kinds and fields that it does not know are kept as they are.
"""
