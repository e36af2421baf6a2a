"""Verticals: business services around one small language model each."""
