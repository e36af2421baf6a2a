"""The TensorRT-LLM builders: checkpoint conversion and `trtllm-build`, or a prepared checkpoint for the LLM API."""
