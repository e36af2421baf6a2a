"""Where models come from over a network: one protocol, a hub and an S3-compatible object store behind it."""
