"""Text encoder: the generic BERT model of the runtime image over the files in this folder."""

from vertical_engines.models.openvino_encoder import TritonPythonModel

__all__ = ["TritonPythonModel"]
