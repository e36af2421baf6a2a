"""Valid and invalid objects as data: unit tests hold them against pydantic, cluster tests against a real API server."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Content = dict[str, Any]

REMOVED = object()
"""Value that takes a field away."""


@dataclass(frozen=True)
class Case:
    """`fragment` stands in the refusal of pydantic and of the API server alike; `by_server`: the schema can express it."""

    name: str
    content: Content
    valid: bool
    fragment: str = ""
    by_server: bool = True


def service(*changes: tuple[str, Any]) -> Content:
    """A small valid VerticalService with fields changed: a path such as `spec.variants.0.name`, and a value or REMOVED."""
    content: Content = {
        "apiVersion": "serving.vertical-operator.io/v1alpha1",
        "kind": "VerticalService",
        "metadata": {"name": "reviews"},
        "spec": {
            "model": {"source": {"image": {"reference": "models:1", "path": "/models/small"}}},
            "toolchain": {"backend": "OpenVINO", "release": "2026.4"},
            "pipeline": {"image": {"reference": "pipeline:1", "path": "/models"}, "entrypoint": "reviews_bls"},
            "engineStore": {"persistentVolumeClaim": {"claimName": "engines"}},
            "variants": [
                {
                    "name": "realtime",
                    "buildConfig": {
                        "max_input_len": 256,
                        "max_output_len": 16,
                        "max_batch_size": 1,
                        "plugin_config": {"paged_kv_cache": False},
                    },
                    "placements": [{"name": "cpu"}],
                }
            ],
        },
    }
    for path, value in changes:
        put(content, path, value)
    return content


def put(content: Any, path: str, value: Any) -> None:
    """Set, append (index one past the end) or take away one field in place."""
    *parents, last = path.split(".")
    for part in parents:
        content = content[int(part)] if isinstance(content, list) else content.setdefault(part, {})
    if value is REMOVED:
        del content[int(last) if isinstance(content, list) else last]
    elif isinstance(content, list) and int(last) == len(content):
        content.append(copy.deepcopy(value))
    else:
        content[int(last) if isinstance(content, list) else last] = copy.deepcopy(value)


VARIANT = "spec.variants.0"
BUILD = f"{VARIANT}.buildConfig"
PAGED = (f"{BUILD}.plugin_config.paged_kv_cache", True)
SECOND = {
    "name": "realtime",
    "buildConfig": {"max_input_len": 1, "max_output_len": 1, "max_batch_size": 1},
    "placements": [{"name": "cpu"}],
}
CACHE = {"size": "64Mi", "models": ["generator"]}
OTHER_CHAIN = {"backend": "TensorRTLLM", "release": "24.09"}
HUB = {
    "repository": "org/model",
    "revision": "v1.0",
    "path": "gguf",
    "files": ["*q8_0.gguf"],
    "tokenSecretRef": {"name": "hub", "key": "token"},
    "endpoint": "https://hub.example.com",
    "proxy": "http://proxy.example.com:3128",
    "cache": {"claimName": "hub-cache", "path": "hub"},
}
OBJECT_STORE = {
    "uri": "s3://models/small/v1",
    "endpoint": "http://minio.storage:9000",
    "region": "eu-central-1",
    "proxy": "http://proxy.example.com:3128",
    "secretRef": {"name": "models"},
}
ON_T4 = (f"{VARIANT}.placements.0.accelerator", {"product": "Tesla-T4", "count": 1})
REGISTRY = {
    "repository": "registry.storage:5000/engines",
    "pullSecretRef": {"name": "engines"},
    "insecure": True,
    "onDelete": "Delete",
}

VALID: tuple[tuple[str, list[tuple[str, Any]]], ...] = (
    ("the smallest one", []),
    ("max_seq_len instead of max_output_len", [(f"{BUILD}.max_output_len", REMOVED), (f"{BUILD}.max_seq_len", 300)]),
    ("plugin keys of any name", [(f"{BUILD}.plugin_config.gemm_plugin", "float16"), (f"{BUILD}.plugin_config.tokens_per_block", 64)]),
    ("no plugin_config", [(f"{BUILD}.plugin_config", REMOVED)]),
    ("in flight on a paged cache", [PAGED, (f"{VARIANT}.batching", "InFlight")]),
    ("prefix cache on a paged cache", [PAGED, (f"{VARIANT}.prefixCache", {"enabled": True})]),
    ("prefix cache switched off on a contiguous cache", [(f"{VARIANT}.prefixCache", {"enabled": False})]),
    ("response cache behind the entry model", [(f"{VARIANT}.responseCache", CACHE)]),
    ("toolchain at the variant only", [("spec.toolchain", REMOVED), (f"{VARIANT}.toolchain", OTHER_CHAIN), ON_T4]),
    ("toolchain at the placement only", [("spec.toolchain", REMOVED), (f"{VARIANT}.placements.0.toolchain", OTHER_CHAIN), ON_T4]),
    ("a GPU placement", [("spec.toolchain", OTHER_CHAIN), ON_T4]),
    ("no replica", [(f"{VARIANT}.placements.0.replicas", 0)]),
    ("numbers as quantities", [(f"{VARIANT}.placements.0.resources", {"requests": {"cpu": 1, "memory": "1Gi"}})]),
    ("a toleration for everything", [(f"{VARIANT}.placements.0.tolerations", [{"operator": "Exists"}])]),
    ("model in a claim", [("spec.model.source", {"persistentVolumeClaim": {"claimName": "models", "path": "a/b-1.3b"}})]),
    ("model in a hub", [("spec.model.source", {"huggingFace": {"repository": "org/model", "revision": "main"}})]),
    ("model in a hub, every field", [("spec.model.source", {"huggingFace": HUB})]),
    ("model in an object store", [("spec.model.source", {"objectStore": {"uri": "s3://models/small/v1"}})]),
    ("model in an object store, every field", [("spec.model.source", {"objectStore": OBJECT_STORE})]),
    ("a store in a registry", [("spec.engineStore", {"registry": {"repository": "registry.example.com/team/engines"}})]),
    ("a store in a registry, every field", [("spec.engineStore", {"registry": REGISTRY})]),
    ("a store of its own", [("spec.engineStore", {"volumeClaimTemplate": {"size": "2Gi"}})]),
    ("a name of 40 characters", [("metadata.name", "a" * 40)]),
    ("a build that waits in a queue", [(f"{VARIANT}.placements.0.queueName", "builds")]),
    ("OpenVINO settings", [(f"{VARIANT}.openvino", {"kvCachePrecision": "f32", "threads": 2, "compiledCache": False})]),
    ("a deterministic variant", [("spec.model.weights", "float16"), (f"{VARIANT}.openvino", {"profile": "Deterministic", "threads": 2})]),
    ("pull secrets", [("spec.imagePullSecrets", [{"name": "registry"}])]),
)

INVALID: tuple[tuple[str, list[tuple[str, Any]], str], ...] = (
    ("no model source", [("spec.model.source", {})], "set exactly one model source"),
    (
        "two model sources",
        [("spec.model.source.persistentVolumeClaim", {"claimName": "models"})],
        "set exactly one model source: huggingFace, image, persistentVolumeClaim or objectStore",
    ),
    ("a parameter that the operator sets", [("spec.pipeline.parameters", {"variant": "mine"})], "choose another name"),
    ("no store", [("spec.engineStore", {})], "set exactly one engine store"),
    ("two stores", [("spec.engineStore.volumeClaimTemplate", {"size": "1Gi"})], "set exactly one engine store"),
    ("a claim and a registry", [("spec.engineStore.registry", REGISTRY)], "set exactly one engine store"),
    ("two variants of one name", [("spec.variants.1", SECOND)], "uplicate"),
    ("two placements of one name", [(f"{VARIANT}.placements.1", {"name": "cpu"})], "uplicate"),
    ("no variant", [("spec.variants", [])], "at least 1 item"),
    ("max_batch_size 0", [(f"{BUILD}.max_batch_size", 0)], "greater than or equal to 1"),
    ("max_input_len 0", [(f"{BUILD}.max_input_len", 0)], "greater than or equal to 1"),
    ("max_beam_width 0", [(f"{BUILD}.max_beam_width", 0)], "greater than or equal to 1"),
    ("neither output limit", [(f"{BUILD}.max_output_len", REMOVED)], "set exactly one of max_output_len and max_seq_len"),
    ("both output limits", [(f"{BUILD}.max_seq_len", 300)], "set exactly one of max_output_len and max_seq_len"),
    (
        "no room for an answer",
        [(f"{BUILD}.max_output_len", REMOVED), (f"{BUILD}.max_seq_len", 256)],
        "raise it above max_input_len",
    ),
    ("in flight on a contiguous cache", [(f"{VARIANT}.batching", "InFlight")], "set buildConfig.plugin_config.paged_kv_cache to true"),
    (
        "prefix cache on a contiguous cache",
        [(f"{VARIANT}.prefixCache", {"enabled": True})],
        "prefixCache needs a paged KV cache: set buildConfig.plugin_config.paged_kv_cache to true",
    ),
    (
        "response cache with sampling",
        [(f"{VARIANT}.responseCache", CACHE), (f"{VARIANT}.decoding", "Sampling")],
        "remove responseCache, or set decoding to Greedy",
    ),
    (
        "response cache on the entry model",
        [(f"{VARIANT}.responseCache", {"size": "64Mi", "models": ["reviews_bls"]})],
        "responseCache.models must not contain pipeline.entrypoint",
    ),
    (
        "a deterministic variant of quantised weights",
        [(f"{VARIANT}.openvino", {"profile": "Deterministic"})],
        "set model.weights to float16",
    ),
    (
        "a deterministic variant with a precision of its own",
        [("spec.model.weights", "float16"), (f"{VARIANT}.openvino", {"profile": "Deterministic", "kvCachePrecision": "u8"})],
        "remove them, or set profile to Default",
    ),
    ("no toolchain anywhere", [("spec.toolchain", REMOVED)], "no toolchain for some placement"),
    ("a name of 41 characters", [("metadata.name", "a" * 41)], "at most 40 lower-case letters"),
    ("a name that begins with a digit", [("metadata.name", "1st")], "beginning with a letter"),
    ("a toleration without key", [(f"{VARIANT}.placements.0.tolerations", [{"effect": "NoSchedule"}])], "it needs a key"),
    (
        "a toleration with a value too many",
        [(f"{VARIANT}.placements.0.tolerations", [{"key": "a", "operator": "Exists", "value": "b"}])],
        "operator Exists has no value",
    ),
)

WORDED_BY_EACH: tuple[tuple[str, list[tuple[str, Any]]], ...] = (
    ("a release that is a number", [("spec.toolchain.release", 2026.4)]),
    ("an unknown backend", [("spec.toolchain.backend", "Mystery")]),
    ("an unknown field", [("spec.unknown", 1)]),
    ("an unknown field far down", [(f"{VARIANT}.placements.0.nodes", {})]),
    ("paged_kv_cache as a word", [(f"{BUILD}.plugin_config.paged_kv_cache", "enable")]),
    ("a relative path in an image", [("spec.pipeline.image.path", "models")]),
    ("a path that climbs", [("spec.pipeline.image.path", "/models/../etc")]),
    ("a path of a claim that climbs", [("spec.model.source", {"persistentVolumeClaim": {"claimName": "models", "path": "../other"}})]),
    ("a size without meaning", [(f"{VARIANT}.responseCache", {"size": "much", "models": ["generator"]})]),
    ("an upper-case variant", [(f"{VARIANT}.name", "Realtime")]),
    ("a negative number of replicas", [(f"{VARIANT}.placements.0.replicas", -1)]),
    ("a proxy with a password", [("spec.model.source", {"huggingFace": {**HUB, "proxy": "http://me:secret@proxy:3128"}})]),
    ("a repository that climbs", [("spec.model.source", {"huggingFace": {**HUB, "repository": "../model"}})]),
    ("an object store of another kind", [("spec.model.source", {"objectStore": {"uri": "ftp://models/small"}})]),
    ("a queue that can't be a label", [(f"{VARIANT}.placements.0.queueName", "q" * 64)]),
    ("an unknown precision", [(f"{VARIANT}.openvino", {"inferencePrecision": "fp32"})]),
    ("a repository with a tag", [("spec.engineStore", {"registry": {"repository": "registry.example.com/engines:v1"}})]),
    ("a repository without a host", [("spec.engineStore", {"registry": {"repository": "engines"}})]),
    ("no image reference", [("spec.pipeline.image.reference", REMOVED)]),
)
"""Refused by both, each in its own words."""

BY_OPERATOR: tuple[tuple[str, list[tuple[str, Any]]], ...] = (
    ("a plugin key with fields", [(f"{BUILD}.plugin_config.gemm_plugin", {"a": 1})]),
)
"""The schema takes any plugin value; the operator reports InvalidSpec."""


def cases() -> Iterator[Case]:
    """Every row of the tables above."""
    for name, changes in VALID:
        yield Case(name, service(*changes), valid=True)
    for name, changes, fragment in INVALID:
        yield Case(name, service(*changes), valid=False, fragment=fragment)
    for name, changes in WORDED_BY_EACH:
        yield Case(name, service(*changes), valid=False)
    for name, changes in BY_OPERATOR:
        yield Case(name, service(*changes), valid=False, by_server=False)
