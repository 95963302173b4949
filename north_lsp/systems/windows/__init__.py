"""What North asks of Windows. `system.py` has the names of `posix.py`; `native.py` alone calls Windows itself."""
