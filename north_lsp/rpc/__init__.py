"""The JSON-RPC peer and its framings. Knows no method and imports none of ours."""
