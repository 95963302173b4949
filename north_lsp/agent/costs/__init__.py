"""The costs of requests: recorded, summed, estimated, limited."""
