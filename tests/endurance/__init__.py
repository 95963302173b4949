"""Campaigns that last for hours: `just endurance`. Each prints what it did; a slice of each is in the suite."""
