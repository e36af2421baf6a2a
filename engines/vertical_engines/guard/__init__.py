"""The sidecar in front of Triton: real inferences behind the probes, an HTTP front with a body limit, and the drain.

Standard library only, so that it starts at once and stays small beside a server that needs the memory.
"""
