"""What requests cost: recorded, summed, estimated, limited."""
