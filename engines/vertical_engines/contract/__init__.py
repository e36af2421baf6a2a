"""What operator and images share. Standard library and pydantic only; Python 3.10 or newer."""
