"""The ConfigMap with the serving plan and the SLM's Triton configuration; immutable, its name holds a digest of its content."""

from vertical_engines.contract.additions import needed_for
from vertical_engines.contract.frozen import digest
from vertical_engines.contract.serving import PLAN_NAME, STORE_PATH, ServingPlan, config_name
from vertical_engines.contract.triton_config import GENERATOR_INPUTS, GENERATOR_OUTPUTS, ModelConfig
from vertical_operator.api.v1alpha1.group import CONFIG_MAP, VERTICAL_SERVICE
from vertical_operator.api.v1alpha1.scalars import size_bytes
from vertical_operator.core.identity import Target
from vertical_operator.core.intents import Manifest
from vertical_operator.core.names import child_name, labels, owner_reference


def serving_plan(target: Target) -> ServingPlan:
    """What the pod's own containers have to know."""
    spec, accelerator = target.service.spec, target.identity.accelerator
    cache = target.variant.response_cache
    return ServingPlan(
        service=target.service.metadata.name,
        variant=target.variant.name,
        placement=target.placement.name,
        engine_key=target.key,
        model_name=spec.model.name,
        model_version=target.model_version,
        entrypoint=spec.pipeline.entrypoint,
        toolchain=target.identity.toolchain,
        toolchains=needed_for(target.release, target.matrix),
        gpu_product=accelerator.product if accelerator else None,
        build=target.identity.build,
        response_cache_models=list(cache.models) if cache else [],
        parameters={
            **spec.pipeline.parameters,
            "generator_model": spec.model.name,
            "placement": target.placement.name,
            "variant": target.variant.name,
        },
    )


def generator_config(target: Target) -> ModelConfig:
    """Triton's configuration of the SLM."""
    name, build = target.service.spec.model.name, target.identity.build
    cache, prefix = target.variant.response_cache, target.variant.prefix_cache
    parameters = {
        "engine_dir": f"{STORE_PATH}/{target.key}",
        "engine_key": target.key,
        "style": "inflight" if target.variant.effective_batching == "InFlight" else "realtime",
        "max_live_requests": str(build.max_batch_size),
        "max_input_len": str(build.max_input_len),
        "max_output_len": str(build.max_output_len),
        "prefix_caching": "true" if prefix and prefix.enabled else "false",
    }
    if prefix and prefix.enabled and prefix.host_memory:
        parameters["prefix_host_memory_bytes"] = str(size_bytes(prefix.host_memory))
    if target.variant.openvino:
        parameters |= target.variant.openvino.parameters()
    return ModelConfig(
        name=name,
        inputs=GENERATOR_INPUTS,
        outputs=GENERATOR_OUTPUTS,
        parameters=parameters,
        response_cache=cache is not None and name in cache.models,
    )


def config_map(target: Target) -> Manifest:
    """Never changed: other content is another object, so that a pod of the old revision can restart with its own."""
    data = {
        PLAN_NAME: serving_plan(target).to_json(),
        config_name(target.service.spec.model.name): generator_config(target).to_pbtxt(),
    }
    service = target.service.metadata
    return {
        "apiVersion": CONFIG_MAP.api_version,
        "kind": CONFIG_MAP.name,
        "metadata": {
            "name": child_name(target.workload, digest(data)[:8]),
            "namespace": service.namespace,
            "labels": labels(service=service.name, variant=target.variant.name, placement=target.placement.name),
            "ownerReferences": [owner_reference(VERTICAL_SERVICE.name, service)],
        },
        "immutable": True,
        "data": data,
    }
