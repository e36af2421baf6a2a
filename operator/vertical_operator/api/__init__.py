"""The public API of the operator: one package per version."""
