"""Where built engines live: one protocol, a volume first."""
