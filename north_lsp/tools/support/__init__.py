"""Code that tools of several rooms share."""
