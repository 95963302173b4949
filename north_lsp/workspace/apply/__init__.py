"""Writing accepted changes to the disk: all or none, even if the process is killed."""
