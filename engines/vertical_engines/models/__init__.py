"""Generic Triton models: the SLM's generator and a sentence encoder, both on OpenVINO."""
