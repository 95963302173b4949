"""The Language Server Protocol: pygls behind North's peer, and the Editor port for clients that speak only LSP."""
