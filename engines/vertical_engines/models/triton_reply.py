"""A Triton response sender as the reply of a ticket: one final response, whatever happens."""

import time
from typing import Any

import triton_python_backend_utils as triton

from vertical_engines.models.refusal import Refusal
from vertical_engines.models.ticket import Generated
from vertical_engines.models.triton_tensors import number_array, text_array

CANCEL_CHECK_SECONDS = 0.1
"""Asking Triton whether the caller has gone is a message to another process: not after every token."""


class TritonReply:
    """`engine` is the short key that stands in every answer."""

    def __init__(self, request: Any, *, engine: str) -> None:
        self._request = request
        self._sender = request.get_response_sender()
        self._engine = engine
        self._done = False
        self._next_check = 0.0

    def is_cancelled(self) -> bool:
        now = time.monotonic()
        if now < self._next_check:
            return False
        self._next_check = now + CANCEL_CHECK_SECONDS
        return bool(self._request.is_cancelled())

    def answer(self, generated: Generated) -> None:
        outputs = [
            triton.Tensor("text", text_array(generated.text)),
            triton.Tensor("tokens", number_array(generated.tokens)),
            triton.Tensor("finish_reason", text_array(generated.finish_reason)),
            triton.Tensor("engine", text_array(self._engine)),
        ]
        self._send(triton.InferenceResponse(output_tensors=outputs))

    def fail(self, refusal: Refusal) -> None:
        self._send(triton.InferenceResponse(error=triton_error(refusal)))

    def _send(self, response: Any) -> None:
        if not self._done:
            self._done = True
            self._sender.send(response, flags=triton.TRITONSERVER_RESPONSE_COMPLETE_FINAL)


def triton_error(refusal: Refusal) -> Any:
    """The error that Triton turns into 400, 503 or 500."""
    return triton.TritonError(refusal.to_message(), getattr(triton.TritonError, refusal.code))
