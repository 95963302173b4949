"""The conversation's log, typed: its entries (`entries.py`, and a file for each family of kinds), how they are written
(`log.py`), and what is made of them: what people are shown (`projection.py`), what models get (`transcript.py`), what
was seen of files (`seen_files.py`), Markdown (`export.py`).

Only this room knows the keys of the file. Kinds and fields that it does not know are kept as they are.
"""
