"""The published names of the conversion, for models that handle requests themselves: thin calls into the codec of a schema."""

import importlib
from collections.abc import Iterable
from typing import Any, TypeVar

from vertical_engines.sdk.codec import InvalidMessage, codec_of, only_row
from vertical_engines.sdk.errors import BadRequest, CodecError, RequestFailure, from_message
from vertical_engines.sdk.fields import TritonFieldModel

ModelT = TypeVar("ModelT", bound=TritonFieldModel)


def convert_pydantic_to_pb_tensors(model: TritonFieldModel, batch_inference: bool = False) -> list[Any]:
    """The object as `pb_utils.Tensor`s; None is left out. `batch_inference` puts an axis of one row in front.

    Raises RequestFailure with `field: problem` for a value that its data type can't hold.
    """
    tensor = importlib.import_module("triton_python_backend_utils").Tensor
    try:
        if not batch_inference:
            return codec_of(type(model)).encode_tensors(model, tensor)
        return [tensor(name, array[None]) for name, array in codec_of(type(model)).encode(model)]
    except CodecError as error:
        raise RequestFailure(str(error)) from error


def convert_pb_tensors_to_pydantic(tensors: Any, model_cls: type[ModelT], batch_inference: bool = False) -> ModelT:
    """An object from a request, a response, or a list of `pb_utils.Tensor`s. `batch_inference`: an axis of one row is in front.

    Raises BadRequest with `field: problem`, and RequestFailure with the code and message of a response that is an error.
    """
    try:
        if not batch_inference:
            return codec_of(model_cls).decode_tensors(list(_tensors(tensors)))
        return codec_of(model_cls).decode((tensor.name(), only_row(tensor.name(), tensor.as_numpy())) for tensor in _tensors(tensors))
    except (InvalidMessage, CodecError) as error:
        raise BadRequest(str(error)) from error


def get_field_names(model_cls: type[TritonFieldModel]) -> list[str]:
    """Tensor names of a schema, in order of declaration."""
    return model_cls.get_field_names()


def _tensors(message: Any) -> Iterable[Any]:
    if hasattr(message, "inputs"):
        inputs: Iterable[Any] = message.inputs()
        return inputs
    if hasattr(message, "output_tensors"):
        if message.has_error():
            code, text = from_message(message.error().message())
            raise RequestFailure(text, code=code)
        outputs: Iterable[Any] = message.output_tensors()
        return outputs
    given: Iterable[Any] = message
    return given
