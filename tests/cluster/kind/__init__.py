"""A cluster of kind: what people with a Docker or Podman engine already know."""
