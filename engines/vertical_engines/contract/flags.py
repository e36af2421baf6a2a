"""Flags as data: what a flag is from which version on, and from that the flags that one version knows."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from vertical_engines.contract.frozen import Frozen
from vertical_engines.contract.versions import Version

Kind = Literal["integer", "number", "switch", "choice", "text", "path", "present"]
"""switch: `enable` or `disable` on a command line, true or false in plugin_config; present: an option without a value."""

Value = bool | int | float | str | None


class FlagSpec(Frozen):
    """One flag as one version knows it.

    `default` is what the program takes when the flag is not given (None: it works it out, or there is none).
    `choices` is empty when anything of the kind goes. `minimum` and `maximum` are inclusive.
    `deprecated` says what to use instead; the flag still works. `explicit`: the default changed in a version that is not known
    for sure, so that a command line has to give it. `plugin`: a key of plugin_config; the option has the same name.
    `step`: `build` is an option of `trtllm-build`; `conversion` one of the script that makes the checkpoint; `automatic` is no option
    at all: the build sets it from the checkpoint, but a plugin_config that was copied from an engine holds it, so it is let through
    and not passed on.
    """

    name: str
    kind: Kind
    meaning: str = ""
    default: Value = None
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    power_of_two: bool = False
    deprecated: str | None = None
    explicit: bool = False
    mandatory: bool = False
    plugin: bool = False
    step: Literal["build", "conversion", "automatic"] = "build"

    @property
    def option(self) -> str:
        """The spelling on a command line: `--max_batch_size`."""
        return f"--{self.name}"

    def objection(self, value: Any) -> str | None:
        """What is wrong with a value (as an object or a command line has it), in a few words; None when it fits."""
        if self.kind == "switch":
            return None if value in (True, False, "enable", "disable") else "has to be true or false (enable or disable)"
        if self.kind in ("integer", "number"):
            return self._out_of_range(value)
        if isinstance(value, bool) and "disable" in self.choices:
            return None
        if self.choices and str(value).lower() not in self.choices:
            return f"has to be one of {', '.join(self.choices)}"
        return None

    def _out_of_range(self, value: Any) -> str | None:
        numbers = int if self.kind == "integer" else (int, float)
        if isinstance(value, bool) or not isinstance(value, numbers):
            return f"has to be {'a whole number' if self.kind == 'integer' else 'a number'}"
        if self.minimum is not None and value < self.minimum:
            return f"has to be {self.minimum:g} or more"
        if self.maximum is not None and value > self.maximum:
            return f"has to be {self.maximum:g} or less"
        if self.power_of_two and isinstance(value, int) and value & (value - 1):
            return "has to be a power of two"
        return None


class FlagHistory(Frozen):
    """One flag over all versions: `changes` holds, by version, the fields of FlagSpec that are different from there on."""

    since: str
    """First version that has it."""
    until: str | None = None
    """First version that has it no more."""
    assumed: bool = False
    """`since` is not known for sure; it is taken early, so that nothing is refused that may work."""
    spec: FlagSpec
    changes: dict[str, dict[str, Any]] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, data: Any) -> Any:
        """In the file the fields of the first spec stand beside `since`."""
        if not isinstance(data, Mapping) or "spec" in data:
            return data
        own = {key: data[key] for key in ("since", "until", "assumed", "changes") if key in data}
        return {**own, "spec": {key: value for key, value in data.items() if key not in own}}

    @model_validator(mode="after")
    def _each_version_makes_sense(self) -> "FlagHistory":
        for version in (self.since, *self.changes):
            self.at(Version.of(version))
        return self

    def knows(self, version: Version) -> bool:
        return Version.of(self.since) <= version and (self.until is None or version < Version.of(self.until))

    def at(self, version: Version) -> FlagSpec | None:
        """The flag as that version has it; None when it does not know it."""
        if not self.knows(version):
            return None
        steps = sorted((start, change) for text, change in self.changes.items() if (start := Version.of(text)) <= version)
        content = self.spec.model_dump(by_alias=True)
        for _, change in steps:
            content |= change
        return FlagSpec.model_validate(content)


Histories = dict[str, FlagHistory]


def flags_at(histories: Histories, version: Version) -> dict[str, FlagSpec]:
    """Name to flag, in the order of the file: the flags that a version knows."""
    return {name: spec for name, history in histories.items() if (spec := history.at(version))}


def named(histories: Any) -> Any:
    """The `name` of each spec is its key in the file; written once."""
    if not isinstance(histories, Mapping):
        return histories
    plain = {name for name, entry in histories.items() if isinstance(entry, Mapping) and "spec" not in entry}
    return {name: {**entry, "name": name} if name in plain else entry for name, entry in histories.items()}
