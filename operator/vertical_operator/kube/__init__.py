"""Talks to the API server: one port of five methods, its adapter, failures, drift and the lease."""
