"""Fill the model repository of a pod from the pipeline image, the rendered configuration and the engine store."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vertical_engines.contract.reasons import Reason
from vertical_engines.contract.serving import ServingPlan, config_name
from vertical_engines.failure import Failure
from vertical_engines.repository.copying import copy_tree, empty
from vertical_engines.repository.generator import generator_source, inner_names, write_inner_models
from vertical_engines.repository.pbtxt import enable_response_cache, parse_config, print_config, refuse_placeholders, set_parameters
from vertical_engines.repository.pipeline_models import CONFIG_FILE, PYTHON_FOLDER, find_models


@dataclass(frozen=True)
class Places:
    """Folders of the pod: two to read, two to fill."""

    config: Path
    pipeline: Path
    repository: Path
    python: Path


def assemble_repository(plan: ServingPlan, *, places: Places) -> list[str]:
    """Fill both target folders, whatever was in them before. Gives the names of the models. Raises Failure."""
    models = find_models(places.pipeline, plan=plan)
    inner = inner_names(plan)
    if taken := sorted({folder.name for folder in models} & set(inner)):
        raise Failure(Reason.PIPELINE_INVALID, f"pipeline image: it has a model {taken[0]}, a name that stands behind the SLM; rename it")
    names = [folder.name for folder in models] + [plan.model_name]
    if unknown := sorted(set(plan.response_cache_models) - set(names)):
        raise Failure(Reason.RESPONSE_CACHE_CONFLICT, f"responseCache.models names {', '.join(unknown)}; there is {', '.join(names)}")
    empty(places.repository)
    empty(places.python)
    for source in models:
        folder = places.repository / source.name
        copy_tree(source, folder, root=places.pipeline)
        config = _read_config(folder / CONFIG_FILE, model=source.name, where=f"{source.name}/{CONFIG_FILE}")
        set_parameters(config, plan.parameters)
        _finish(config, plan=plan, model=source.name, folder=folder)
    if (python := places.pipeline / PYTHON_FOLDER).is_dir():
        copy_tree(python, places.python, root=places.pipeline)
    _write_generator(plan, places=places)
    return names + inner


def _write_generator(plan: ServingPlan, *, places: Places) -> None:
    rendered = places.config / config_name(plan.model_name)
    config = _read_config(rendered, model=plan.model_name, where=rendered.name)
    if config.backend == "python":
        set_parameters(config, {"max_seq_len": str(plan.build.max_seq_len)})
    folder = places.repository / plan.model_name
    version = folder / str(plan.model_version)
    version.mkdir(parents=True)
    if config.backend == "python":
        (version / "model.py").write_text(generator_source(plan), encoding="utf-8")
    parameters = {name: value.string_value for name, value in config.parameters.items()}
    write_inner_models(plan, parameters=parameters, repository=places.repository)
    _finish(config, plan=plan, model=plan.model_name, folder=folder)


def _read_config(path: Path, *, model: str, where: str) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Failure(Reason.PIPELINE_INVALID, f"the rendered configuration has no {where}") from None
    except UnicodeDecodeError:
        raise Failure(Reason.PIPELINE_INVALID, f"{where} is not UTF-8 text") from None
    refuse_placeholders(text, where=where)
    config = parse_config(text, where=where)
    if config.name not in ("", model):
        raise Failure(Reason.PIPELINE_INVALID, f"{where} names the model {config.name}, its folder is {model}")
    config.name = model
    return config


def _finish(config: Any, *, plan: ServingPlan, model: str, folder: Path) -> None:
    if model in plan.response_cache_models:
        enable_response_cache(config, model=model, entrypoint=plan.entrypoint)
    (folder / CONFIG_FILE).write_text(print_config(config), encoding="utf-8")
