"""The JSON-RPC peer and its framings. Knows no methods and imports no other package of North's."""
