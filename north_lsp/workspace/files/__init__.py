"""The files of a workspace: listed, ignored, closed, ranked."""
