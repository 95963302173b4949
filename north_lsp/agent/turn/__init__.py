"""One turn, from the prompt to the model's last answer. Begin with `turn.py`."""
