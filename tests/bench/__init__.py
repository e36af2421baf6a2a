"""Measurements, run by hand: they print figures, and no test depends on a clock."""
