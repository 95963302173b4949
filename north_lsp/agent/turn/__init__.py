"""One turn, from the prompt to the model's last answer. Start with `turn.py`."""
