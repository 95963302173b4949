"""What a user can call by name besides North's own commands: file commands, prompt templates and skills, of North and
of other tools, and how a call becomes text for a model. Nothing here runs anything."""
