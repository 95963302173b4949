"""Secrets never leave this machine: what is sent to a model and what is stored has placeholders in their place.

`sources.py` says which values are secret, `secrets.py` exchanges them for placeholders and back, `masked_pool.py` does
so for every request to a model and every answer, `log_veil.py` for every line of the log.
"""
