"""Manifests as YAML that people read: fields in the order of the renderers, longer texts as blocks, no anchors."""

from collections.abc import Iterable
from typing import Any

import yaml

from vertical_operator.core.intents import Manifest


class _Readable(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Readable.add_representer(str, _text)


def documents(manifests: Iterable[Manifest]) -> str:
    """One YAML document per manifest; equal input gives equal bytes."""
    return yaml.dump_all(manifests, Dumper=_Readable, sort_keys=False, width=100_000, allow_unicode=True)
