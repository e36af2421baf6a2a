"""One module per backend behind one protocol, and the translation of their errors."""
