"""Status of both kinds, from what is wanted and observed."""

from datetime import datetime

from vertical_operator.core.intents import Manifest


def invalid(raw: Manifest, *, text: str, now: datetime) -> Manifest:
    """Status of an object whose spec can't be read: Stalled InvalidSpec until a new generation. Either kind (by raw["kind"])."""
    raise NotImplementedError


def refused(status: Manifest, *, what: str, text: str, generation: int, now: datetime) -> Manifest:
    """The planned status, corrected because the API server refused a child (`what`, such as "Deployment x") with `text`."""
    raise NotImplementedError
