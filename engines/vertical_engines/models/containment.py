"""The one place in the models that catches every exception: no traceback reaches a caller, and no loop dies without a word."""

import logging
from collections.abc import Callable
from typing import ParamSpec

from vertical_engines.models.refusal import Refusal

log = logging.getLogger(__name__)
Arguments = ParamSpec("Arguments")


def contained(action: Callable[Arguments, None], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Refusal | None:
    """Run `action`. None: it went well. A Refusal that it raised is given as it is; anything else is logged and becomes INTERNAL."""
    try:
        action(*args, **kwargs)
    except Refusal as refusal:
        return refusal
    except Exception as error:
        log.exception("a request failed")
        return Refusal("INTERNAL", f"{type(error).__name__} in the model; the server's log has the details")
    return None
