"""The spec of a VerticalService."""

import re
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from vertical_engines.contract.engine import Weights
from vertical_engines.contract.frozen import Frozen
from vertical_operator.api.v1alpha1.group import API_VERSION
from vertical_operator.api.v1alpha1.metadata import ObjectMeta
from vertical_operator.api.v1alpha1.rules import Rule, Ruled
from vertical_operator.api.v1alpha1.scalars import LongText, ParameterCount, Text, TritonName, distinct, list_map
from vertical_operator.api.v1alpha1.service_status import VerticalServiceStatus
from vertical_operator.api.v1alpha1.sources import ImageSource, ModelSource
from vertical_operator.api.v1alpha1.stores import EngineStore, PullSecret
from vertical_operator.api.v1alpha1.variant import ToolchainSpec, Variant


class ModelSpec(Frozen):
    """The SLM: its name in Triton, its source and the precision of its weights."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    name: TritonName = "generator"
    """Triton model name."""
    revision: Text = ""
    """Free text, part of the engine key: change it when the source changes under the same reference."""
    weights: Weights = "source"
    """source: as the source has them."""
    parameter_count: ParameterCount | None = None
    """Such as 1.3B. With it, weights that can't fit into a placement's GPUs are refused before anything is built."""
    source: ModelSource


GIVEN_PARAMETERS = ("generator_model", "placement", "variant")
"""Parameters that every model of a pipeline gets from the operator."""


class PipelineSpec(Ruled):
    """The part of the Triton model repository that the ML engineer owns."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    image: ImageSource
    entrypoint: TritonName
    """The model that clients call and the canary exercises."""
    parameters: Annotated[dict[str, LongText], Field(max_length=32)] = Field(default_factory=dict)
    """Handed to the pipeline's models, besides `variant`, `placement` and `generator_model` (the SLM's Triton name), which they
    always get."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="!has(self.parameters) || !self.parameters.exists(name, name in ['generator_model', 'placement', 'variant'])",
            message="the operator sets the parameters generator_model, placement and variant itself: choose another name",
            holds=lambda self: not set(GIVEN_PARAMETERS) & set(self.parameters),
        ),
    )


def _toolchain_everywhere(spec: "VerticalServiceSpec") -> bool:
    if spec.toolchain:
        return True
    return all(variant.toolchain or all(placement.toolchain for placement in variant.placements) for variant in spec.variants)


TOOLCHAIN_EVERYWHERE = Rule(
    cel="has(self.toolchain) || self.variants.all(v, has(v.toolchain) || v.placements.all(p, has(p.toolchain)))",
    message="no toolchain for some placement: set spec.toolchain, or toolchain in each variant or placement",
    holds=_toolchain_everywhere,
)
NO_CACHED_ENTRYPOINT = Rule(
    cel="self.variants.all(v, !has(v.responseCache) || !(self.pipeline.entrypoint in v.responseCache.models))",
    message="responseCache.models must not contain pipeline.entrypoint: cache the internal models behind it",
    holds=lambda spec: all(v.response_cache is None or spec.pipeline.entrypoint not in v.response_cache.models for v in spec.variants),
)

DETERMINISTIC_WEIGHTS = Rule(
    cel="self.model.weights == 'float16' || self.variants.all(v, !has(v.openvino) || v.openvino.profile != 'Deterministic')",
    message="openvino.profile Deterministic needs unquantised weights: set model.weights to float16",
    holds=lambda spec: (
        spec.model.weights == "float16" or all(v.openvino is None or v.openvino.profile != "Deterministic" for v in spec.variants)
    ),
)


class VerticalServiceSpec(Ruled):
    """One business service around one SLM."""

    model_config = ConfigDict(use_attribute_docstrings=True)
    rules: ClassVar[tuple[Rule, ...]] = (TOOLCHAIN_EVERYWHERE, NO_CACHED_ENTRYPOINT, DETERMINISTIC_WEIGHTS)

    model: ModelSpec
    toolchain: ToolchainSpec | None = None
    """For all variants; a variant or a placement may set another."""
    pipeline: PipelineSpec
    engine_store: EngineStore
    image_pull_secrets: Annotated[tuple[PullSecret, ...], list_map("name", max_items=8), distinct("name")] = ()
    """For every pod of the service, builds too."""
    variants: Annotated[tuple[Variant, ...], list_map("name", max_items=8, min_items=1), distinct("name")]


SERVICE_NAME = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
SHORT_NAME = Rule(
    cel="self.metadata.name.matches('^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$')",
    message="metadata.name starts the names of Services and labels: use at most 40 lower-case letters, digits and '-', "
    "beginning with a letter and ending with a letter or digit",
    holds=lambda service: SERVICE_NAME.fullmatch(service.metadata.name) is not None,
)


class VerticalService(Ruled):
    """A vertical: one small language model, built and served in one or more variants side by side."""

    rules: ClassVar[tuple[Rule, ...]] = (SHORT_NAME,)

    api_version: Literal["serving.vertical-operator.io/v1alpha1"] = API_VERSION
    kind: Literal["VerticalService"] = "VerticalService"
    metadata: ObjectMeta
    spec: VerticalServiceSpec
    status: VerticalServiceStatus = VerticalServiceStatus()
