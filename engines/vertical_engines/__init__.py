"""Everything that runs inside Triton images: builders, model repository, SDK, client and guard."""

__version__ = "0.1.0"
