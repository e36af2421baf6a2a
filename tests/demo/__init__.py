"""The demo: from a bare machine to answers of both variants. `python -m tests.demo up|down`."""
