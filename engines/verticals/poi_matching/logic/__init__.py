"""Pure business logic: plain values in and out, no Triton, no network, no files but the index."""
