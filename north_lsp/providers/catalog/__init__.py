"""The models that exist (the shipped catalog, the user's `models.yml`, what servers offer) and how one is chosen."""
