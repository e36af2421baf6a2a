"""The command `fetch`: the request from the environment, the model's files and a record of them in the model volume."""

import os
from pathlib import Path

from pydantic import ValidationError

from vertical_engines.commands.ending import run_to_end
from vertical_engines.contract.fetch import FETCH_VARIABLE, MODEL_FILES, SOURCE_RECORD, FetchRequest
from vertical_engines.contract.reasons import Reason
from vertical_engines.failure import Failure
from vertical_engines.progress import progress
from vertical_engines.progress_port import shown
from vertical_engines.sources.download import fetch_model
from vertical_engines.sources.opening import open_source
from vertical_engines.store.durable import write_durably


def read_fetch_request(text: str | None) -> FetchRequest:
    """Raises InvalidSpec for a request that this image does not understand."""
    try:
        return FetchRequest.model_validate_json(text or "")
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise Failure(
            Reason.INVALID_SPEC, f"{FETCH_VARIABLE} is not a fetch request that this image knows: {where}: {first['msg']}"
        ) from None


def run_fetch(*, model: Path, credentials: Path, hub_cache: Path, port: int, termination_log: Path) -> int:
    """Fetch; returns the exit code. Only a failure leaves a termination message."""
    with shown(progress(), port=port) as say:

        def work() -> None:
            request = read_fetch_request(os.environ.get(FETCH_VARIABLE))
            source = open_source(request, credentials=credentials, hub_cache=hub_cache)
            fetched = fetch_model(source, folder=model / MODEL_FILES, say=say)
            write_durably(model / SOURCE_RECORD, fetched.to_json())

        return run_to_end(work, termination_log=termination_log, say=say)
