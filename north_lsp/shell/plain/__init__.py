"""Commands on Windows: each in a shell of its own (Git Bash or PowerShell), since no shell is kept there."""
