"""Answers of children kept in the calling process: the alternative to Triton's response cache, without its surprises."""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from vertical_engines.sdk.dtypes import Array
from vertical_engines.sdk.fields import TritonFieldModel

Key = tuple[Any, ...]


class ChildCache:
    """The `entries` answers asked for last, each for at most `seconds`. Thread safe.

    The key holds everything that makes a request: both schemas, every value with its shape, and the parameters. Failures
    are never kept. Each process of a model has its own.
    """

    def __init__(self, *, entries: int, seconds: float | None = None) -> None:
        if entries < 1:
            raise ValueError("a cache needs room for one entry at least")
        self._entries, self._seconds = entries, seconds
        self._kept: OrderedDict[Key, tuple[float, Any]] = OrderedDict()
        self._lock = threading.Lock()
        self.hits = self.misses = 0

    def find(self, key: Key) -> Any:
        """The kept answer, or None."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None and self._seconds is not None and time.monotonic() - found[0] > self._seconds:
                del self._kept[key]
                found = None
            if found is None:
                self.misses += 1
                return None
            self.hits += 1
            self._kept.move_to_end(key)
            return found[1]

    def keep(self, key: Key, answer: TritonFieldModel) -> None:
        """Keep an answer; the one that was not asked for longest makes room."""
        detached = _detached(answer)
        with self._lock:
            self._kept[key] = (time.monotonic(), detached)
            self._kept.move_to_end(key)
            while len(self._kept) > self._entries:
                self._kept.popitem(last=False)


def key_of(named: Iterable[tuple[str, Array]], *, schemas: tuple[type, type], options: Mapping[str, Any]) -> Key:
    """What makes two requests the same."""
    values = tuple((name, array.shape, array.dtype.str, _contents(array)) for name, array in named)
    return (schemas, values, tuple(sorted((options.get("parameters") or {}).items())), options.get("model_version"))


def _contents(array: Array) -> Any:
    return tuple(array.ravel().tolist()) if array.dtype == object else array.tobytes()


def _detached(answer: TritonFieldModel) -> TritonFieldModel:
    """A copy whose arrays are its own: those of a response lie in memory that Triton wants back."""
    arrays = {name: value.copy() for name, value in answer.__dict__.items() if isinstance(value, np.ndarray)}
    for array in arrays.values():
        array.flags.writeable = False
    return answer.model_copy(update=arrays) if arrays else answer
