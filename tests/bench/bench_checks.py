"""How many objects a second are checked, and how long an engine key takes: `python -m tests.bench.bench_checks [seconds]`.

One process, one core. Parsing is measured apart, since the operator parses an object for other reasons too.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from vertical_engines.contract.toolchains import Matrix, Toolchains, matrix
from vertical_operator.api.v1alpha1 import VerticalService, parse
from vertical_operator.core.admission.policy import admission_yaml
from vertical_operator.core.identity import Target, targets
from vertical_operator.core.policies import findings
from vertical_operator.core.settings import OperatorSettings

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "poi-matching-gpu.yaml"


def microseconds(work: Callable[[], object], *, seconds: float) -> float:
    """Mean time of one call over about so many seconds, after a first call that does not count."""
    work()
    calls, begin = 0, time.perf_counter()
    while (passed := time.perf_counter() - begin) < seconds:
        work()
        calls += 1
    return passed / calls * 1e6


def main(seconds: float = 2.0) -> None:
    """Print one line per figure."""
    content, settings = yaml.safe_load(EXAMPLE.read_text()), OperatorSettings()
    service = parse(VerticalService, content)
    target = targets(service, settings)[0]
    assert isinstance(target, Target)
    assert findings(service, settings) == ()
    file = matrix().file.model_dump(mode="json", by_alias=True)
    rows: dict[str, Callable[[], object]] = {
        "parse one object (3 placements)": lambda: parse(VerticalService, content),
        "check one object (3 placements, all policies)": lambda: findings(service, settings),
        "parse and check": lambda: findings(parse(VerticalService, content), settings),
        "engine key of one identity": target.identity.key,
        "targets of one object, keys left out": lambda: targets(service, settings),
        "load the matrix": lambda: Matrix(Toolchains.model_validate(file)),
        "generate the admission policy": lambda: admission_yaml(matrix()),
    }
    for name, work in rows.items():
        each = microseconds(work, seconds=seconds)
        print(f"{name:<48} {each:>12,.1f} µs {1e6 / each:>12,.0f} /s")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
