"""Our clients against real servers of the protocols that they speak: on loopback, each started for the tests and ended with them."""
