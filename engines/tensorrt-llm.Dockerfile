# Toolchain image of the TensorRT-LLM backends: builds engines and serves them. Context: the root of the repository.
# NGC_IMAGE: the base of a release, as `vertical-engines toolchains` lists it, with the registry that you pull it from; best by digest.
#   --build-arg NGC_IMAGE=<registry>/nvidia/tritonserver:25.05-trtllm-python-py3 --tag vertical-engines-tensorrt-llm:25.05
# Releases up to 24.12 have no conversion scripts. For those, hand over the folder `examples` of the same TensorRT-LLM version:
#   --build-context examples=<checkout of TensorRT-LLM>/examples
# Never built here: it needs NVIDIA's image. docs/tensorrt-llm.md says what has been run.
ARG NGC_IMAGE

# Replaced by the build context of the same name; empty without one.
FROM scratch AS examples

FROM ${NGC_IMAGE} AS base
USER root
RUN apt-get update \
 && apt-get install -y --no-install-recommends busybox-static python3-venv \
 && rm -rf /var/lib/apt/lists/*
COPY engines/tensorrt-llm-requirements.txt /requirements.txt
# The commands have an environment of their own, over the image's packages: what NVIDIA pinned for TensorRT-LLM stays as it is.
# Triton's stub runs the image's own Python: it gets our code, and pydantic only where the image has none.
RUN python3 -m venv --system-site-packages /opt/vertical/venv \
 && /opt/vertical/venv/bin/pip install --no-cache-dir -r /requirements.txt \
 && { python3 -c 'import pydantic; assert pydantic.VERSION >= "2.9"' 2>/dev/null \
      || PIP_BREAK_SYSTEM_PACKAGES=1 pip install --no-cache-dir 'pydantic>=2.9,<3'; } \
 && site=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
 && printf '%s\n' /opt/vertical/code /repository-python > "$site/vertical.pth" \
 && printf '%s\n' /opt/vertical/code > "$(/opt/vertical/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/vertical.pth" \
 && printf '#!/opt/vertical/venv/bin/python3\nfrom vertical_engines.cli import app\n\napp()\n' > /usr/local/bin/vertical-engines \
 && chmod 755 /usr/local/bin/vertical-engines
COPY engines/vertical_engines /opt/vertical/code/vertical_engines
COPY --from=examples / /opt/tensorrt_llm/examples/
RUN find /opt/vertical/code -name __pycache__ -prune -exec rm -r {} + \
 && chmod -R a+rX /opt/vertical /opt/tensorrt_llm \
 && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/vertical/code
ENV HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HF_HUB_OFFLINE=1 \
    TRANSFORMERS_OFFLINE=1
USER 1000:1000
# Without a driver TensorRT-LLM itself can't be imported: what can be proven is that ours can, and that NVIDIA's programs are there.
RUN vertical-engines --help > /dev/null \
 && /opt/vertical/venv/bin/python -c "import tritonclient.grpc, vertical_engines.repository.tensorrt_llm, vertical_engines.sources.hub, vertical_engines.sources.object_store, vertical_engines.store.registry" \
 && python3 -c "import numpy, tokenizers, vertical_engines.sdk" \
 && test -x "$(command -v trtllm-build)" -o -d /app/all_models/llmapi \
 && test -x /bin/busybox && test -x /opt/tritonserver/bin/tritonserver
ENTRYPOINT []
CMD ["vertical-engines", "--help"]
