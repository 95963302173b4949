"""The files of a workspace: listing, ignoring, closing and ranking them."""
