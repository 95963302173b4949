"""Writing accepted changes to the disk: all or none, also when the process is killed."""
