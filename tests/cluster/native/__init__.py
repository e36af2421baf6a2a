"""A Kubernetes of real parts on this machine, in namespaces of its own: no container engine, nothing left on the machine's network."""
