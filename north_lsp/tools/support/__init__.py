"""What tools of several rooms share."""
