"""Which models there are: the shipped catalog, the user's `models.yml`, what servers offer, and how one is picked."""
