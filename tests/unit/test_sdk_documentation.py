"""Every Python example of docs/sdk.md runs as written, in order; its last one asserts what the others give."""

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "sdk.md"


def test_the_examples_of_the_page_run_as_written() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6
    assert "assert triton.calls" in blocks[-1]
    scope: dict[str, Any] = {"__name__": "documentation"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)
