"""Stand-ins for TensorRT-LLM's programs: the argument grammar and error texts of each release, and no GPU, no TensorRT, no engine."""
