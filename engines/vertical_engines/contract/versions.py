"""Versions of TensorRT-LLM and its like as values that compare."""

import re
from typing import NamedTuple

_SHAPE = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:\.?(dev|rc|post)(\d+))?")
_STAGES = {"dev": -2, "rc": -1, None: 0, "post": 1}


class Version(NamedTuple):
    """`0.17.0.post1` is later than `0.17.0`, `1.3.0rc20` earlier than `1.3.0`; parts that are left out are 0, so `0.12` is `0.12.0`."""

    major: int
    minor: int
    patch: int = 0
    build: int = 0
    stage: int = 0
    """-2 development snapshot, -1 release candidate, 0 release, 1 post release."""
    number: int = 0
    """Of the stage: 20 in 1.3.0rc20."""

    @classmethod
    def of(cls, text: str) -> "Version":
        """Raises ValueError when the text is no version."""
        match = _SHAPE.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no version such as 0.13.0, 0.17.0.post1 or 1.3.0rc20")
        major, minor, patch, build, stage, number = match.groups()
        return cls(int(major), int(minor), int(patch or 0), int(build or 0), _STAGES[stage], int(number or 0))
