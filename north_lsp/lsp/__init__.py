"""The Language Server Protocol: pygls behind our peer, and the Editor port for clients that speak nothing else."""
