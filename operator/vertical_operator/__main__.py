"""`python -m vertical_operator`."""

from vertical_operator.cli import app

app()
