"""One pure renderer per child: what is wanted in, a manifest out (or None: must not exist)."""
