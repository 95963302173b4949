"""What may not be written, run over or seen: closed files, protected names, repositories, links."""
