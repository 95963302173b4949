"""Models behind one stream contract."""
