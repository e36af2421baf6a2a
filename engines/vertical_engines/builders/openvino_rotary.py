"""Puts the frequencies of the rotary embedding back in float32 after openvino-genai has saved a graph with them in float16.

A frequency that is off by 2 ** -12 of itself turns a head wrongly by half a radian after some two thousand tokens.
"""

from pathlib import Path
from typing import Any

import numpy
import openvino
from openvino import opset13 as op

NAME = "openvino_model"


class NoRotary(Exception):
    """The graph has not the one constant of frequencies that was expected: another release of openvino-genai builds it differently."""


def mend_rotary(folder: Path, *, base: float) -> None:
    """Rewrite `openvino_model.xml` and `.bin` in a folder; `base` as the model's own file gives it. Raises NoRotary."""
    model = openvino.Core().read_model(folder / f"{NAME}.xml")
    found = [(node, exact) for node in model.get_ops() if (exact := _frequencies(node, base=base)) is not None]
    if len(found) != 1:
        raise NoRotary(f"{len(found)} constants look like frequencies of base {base:g}, 1 was expected")
    (stored, exact), *_ = found
    for user in stored.output(0).get_target_inputs():
        # float16 comes with a Convert behind it; float32 needs none.
        place = user.get_node().output(0) if user.get_node().get_type_name() == "Convert" else stored.output(0)
        place.replace(op.constant(exact).output(0))
    mended = folder / ".mended"
    mended.mkdir()
    openvino.save_model(model, mended / f"{NAME}.xml", compress_to_fp16=False)
    # The graph that was read still maps the old file: the new one takes its name, it is not written over.
    for ending in ("bin", "xml"):
        (mended / f"{NAME}.{ending}").replace(folder / f"{NAME}.{ending}")
    mended.rmdir()


def _frequencies(node: Any, *, base: float) -> Any:
    """The exact frequencies in the node's own shape, when it holds them roundly; None otherwise."""
    if node.get_type_name() != "Constant" or not node.get_element_type().is_real():
        return None
    shape = list(node.output(0).get_shape())
    if len(shape) != 3 or shape[0] != 1 or shape[2] != 1 or shape[1] < 2:
        return None
    exact = (float(base) ** (-numpy.arange(shape[1]) / shape[1])).astype(numpy.float32).reshape(shape)
    return exact if numpy.allclose(node.data.astype(numpy.float32), exact, rtol=2e-3, atol=1e-6) else None
