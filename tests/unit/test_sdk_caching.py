"""Kept answers of children, what the response cache is refused for, and the faster string functions beside Triton's own."""

import importlib.util
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Annotated, Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.triton.server import wheel_folder
from vertical_engines.sdk import ChildCache, NDArray, TritonFieldModel, TritonPythonModel, TritonType
from vertical_engines.sdk.cache import refuse_response_cache, schema_fingerprint
from vertical_engines.sdk.config import model_config_of
from vertical_engines.sdk.fastbytes import DESERIALISE, SERIALISE, SWITCH, install_fastbytes
from vertical_engines.sdk.testing import FakeInferenceError, FakePbUtils


class Words(TritonFieldModel):
    words: list[str]


class Vector(TritonFieldModel):
    vector: Annotated[NDArray, TritonType("TYPE_FP32")]


class Child(TritonPythonModel[Words, Vector]):
    request_model, response_model = Words, Vector

    def handle(self, request: Words) -> Vector:
        if request.words == ["bad"]:
            raise ValueError("bad")
        return Vector(vector=np.array([len(word) for word in request.words], np.float32))


class Caller(TritonPythonModel[Words, Vector]):
    request_model, response_model = Words, Vector
    options: ClassVar[dict[str, Any]] = {}

    def handle(self, request: Words) -> Vector:
        return self._infer_model(request, Vector, "child", **self.options)


@pytest.fixture
def triton() -> Iterator[FakePbUtils]:
    with FakePbUtils() as fake:
        yield fake


def caller(triton: FakePbUtils, cache: ChildCache) -> type[Caller]:
    class Caching(Caller):
        child_caches: ClassVar[Any] = {"child": cache}

    for name, model in (("child", Child()), ("caller", Caching())):
        triton.load(model, model_config_of(name, request=Words.plan(), response=Vector.plan()))
    return Caching


def ask(triton: FakePbUtils, *words: str) -> list[float]:
    found: list[float] = triton.infer("caller", {"words": np.array(words, object)})["vector"].tolist()
    return found


def test_the_same_request_is_answered_without_a_call(triton: FakePbUtils) -> None:
    cache = ChildCache(entries=4)
    caller(triton, cache)
    assert ask(triton, "a", "bc") == ask(triton, "a", "bc") == [1, 2]
    assert triton.calls.count("child") == 1
    assert (cache.hits, cache.misses) == (1, 1)


@pytest.mark.parametrize("other", [("ab",), ("b", "a"), ("a", "b", "")])
def test_another_request_is_another_entry(triton: FakePbUtils, other: tuple[str, ...]) -> None:
    caller(triton, ChildCache(entries=4))
    ask(triton, "a", "b")
    ask(triton, *other)
    assert triton.calls.count("child") == 2


def test_parameters_make_another_entry(triton: FakePbUtils) -> None:
    made = caller(triton, ChildCache(entries=4))
    ask(triton, "a")
    made.options = {"parameters": {"temperature": 1}}
    ask(triton, "a")
    assert triton.calls.count("child") == 2


def test_a_failure_is_not_kept(triton: FakePbUtils) -> None:
    caller(triton, ChildCache(entries=4))
    for _ in range(2):
        with pytest.raises(FakeInferenceError):
            ask(triton, "bad")
    assert triton.calls.count("child") == 2


def test_the_oldest_answer_makes_room(triton: FakePbUtils) -> None:
    caller(triton, ChildCache(entries=2))
    for word in ("a", "b", "a", "c", "a", "b"):
        ask(triton, word)
    assert triton.calls.count("child") == 4


def test_an_answer_is_kept_for_its_time_only(triton: FakePbUtils, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("vertical_engines.sdk.child_cache.time", SimpleNamespace(monotonic=lambda: clock.now))
    caller(triton, ChildCache(entries=2, seconds=10))
    ask(triton, "a")
    clock.now = 9
    ask(triton, "a")
    clock.now = 11
    ask(triton, "a")
    assert triton.calls.count("child") == 2


def test_a_kept_array_is_a_copy_that_nobody_can_change() -> None:
    cache, original = ChildCache(entries=1), np.zeros(2, np.float32)
    cache.keep(("key",), Vector(vector=original))
    original[0] = 7
    kept = cache.find(("key",)).vector
    assert kept.tolist() == [0, 0]
    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 1


CACHED = {"response_cache": {"enable": True}, "input": [{"name": "cache_salt"}]}


@pytest.mark.parametrize(
    ("config", "options", "reason"),
    [
        (CACHED, {"public": True}, "clients call"),
        (CACHED, {"public": False, "deterministic": False}, "samples"),
        ({**CACHED, "parameters": {"decoding": {"string_value": "Sampling"}}}, {"public": False}, "samples"),
        ({**CACHED, "model_transaction_policy": {"decoupled": True}}, {"public": False}, "decoupled"),
        ({**CACHED, "sequence_batching": {"direct": {}}}, {"public": False}, "sequences"),
        ({**CACHED, "input": []}, {"public": False}, "needs the optional input"),
    ],
)
def test_the_response_cache_is_refused_with_its_reason(config: dict[str, Any], options: dict[str, Any], reason: str) -> None:
    assert reason in (refuse_response_cache(config, **options) or "")


def test_the_response_cache_is_allowed_where_it_is_safe() -> None:
    assert refuse_response_cache(CACHED, public=False) is None


def test_a_new_revision_of_the_code_is_another_salt() -> None:
    class New(Words):
        cache_revision = "2"

    assert schema_fingerprint(Words.plan()) != schema_fingerprint(New.plan())


@pytest.fixture
def stub() -> ModuleType:
    """The real module of Triton's wheel, as a stub finds it."""
    spec = importlib.util.spec_from_file_location("stub_utils", wheel_folder() / "backends" / "python" / "triton_python_backend_utils.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_both_functions_are_replaced_once(stub: ModuleType) -> None:
    assert install_fastbytes(stub) == [SERIALISE, DESERIALISE]
    assert install_fastbytes(stub) == []


def test_the_switch_leaves_them_alone(stub: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "0")
    assert install_fastbytes(stub) == []


def test_a_function_that_does_something_else_stays(stub: ModuleType) -> None:
    stub.serialize_byte_tensor = lambda tensor: b"another format"  # type: ignore[attr-defined]
    assert install_fastbytes(stub) == [DESERIALISE]


def test_a_stub_without_the_functions_is_left_alone() -> None:
    assert install_fastbytes(SimpleNamespace()) == []


@given(st.lists(st.text() | st.binary() | st.integers() | st.none()))
def test_the_fast_functions_do_what_tritons_own_do(elements: list[Any]) -> None:
    spec = importlib.util.spec_from_file_location("stub_utils", wheel_folder() / "backends" / "python" / "triton_python_backend_utils.py")
    assert spec is not None
    assert spec.loader is not None
    slow, fast = importlib.util.module_from_spec(spec), importlib.util.module_from_spec(spec)
    spec.loader.exec_module(slow)
    spec.loader.exec_module(fast)
    assert len(install_fastbytes(fast)) == 2
    array = np.empty(len(elements), object)
    array[:] = elements
    wire = slow.serialize_byte_tensor(array)
    assert fast.serialize_byte_tensor(array) == wire
    assert fast.deserialize_bytes_tensor(wire).tolist() == slow.deserialize_bytes_tensor(wire).tolist()


def test_a_model_can_complete_its_configuration_by_itself(stub: ModuleType) -> None:
    config = stub.ModelConfig('{"name": "m", "max_batch_size": 0, "input": [], "output": []}')
    completed = Child.auto_complete_config(config).as_dict()
    assert completed["input"] == [{"name": "words", "data_type": "TYPE_STRING", "dims": [-1]}]
    assert completed["output"] == [{"name": "vector", "data_type": "TYPE_FP32", "dims": [-1]}]
