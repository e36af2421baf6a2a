"""Single values in and out of Triton requests, with errors that name the tensor."""

from typing import Any

import numpy

from vertical_engines.models.refusal import Refusal


def read_text(request: Any, name: str) -> str:
    """The one string of an input; Refusal INVALID_ARG when it is missing, not alone or not UTF-8."""
    texts = read_texts(request, name)
    _check_single(texts, name)
    return texts[0]


def read_texts(request: Any, name: str) -> list[str]:
    """Every string of an input in its order; Refusal INVALID_ARG when it is missing or not UTF-8."""
    values = _read(request, name)
    if values is None:
        raise Refusal("INVALID_ARG", f"{name}: this input is required")
    try:
        return [value.decode() if isinstance(value, bytes) else str(value) for value in values]
    except UnicodeDecodeError:
        raise Refusal("INVALID_ARG", f"{name}: not valid UTF-8") from None


def read_number(request: Any, name: str) -> int | None:
    """The one integer of an input, None when it was left out."""
    values = _read(request, name)
    if values is None:
        return None
    _check_single(values, name)
    return int(values[0])


def _check_single(values: list[Any], name: str) -> None:
    if len(values) != 1:
        raise Refusal("INVALID_ARG", f"{name}: {len(values)} values, exactly 1 is needed")


def _read(request: Any, name: str) -> list[Any] | None:
    return next((tensor.as_numpy().ravel().tolist() for tensor in request.inputs() if tensor.name() == name), None)


def text_array(value: str) -> Any:
    """TYPE_STRING [1]."""
    return numpy.array([value.encode()], dtype=object)


def number_array(value: int) -> Any:
    """TYPE_INT32 [1]."""
    return numpy.array([value], dtype=numpy.int32)
