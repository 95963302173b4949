"""What must not be written, replaced or seen: closed files, protected names, repositories, links."""
