# Toolchain image of the OpenVINO backend: builds engines and serves them. Context: the root of the repository.

# Dependencies: an own stage, so that pip and what is trimmed away leave no trace in the image.
FROM debian:12-slim AS dependencies
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 python3-venv ca-certificates \
 && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/venv
COPY engines/openvino-requirements.txt /requirements.txt
RUN /opt/venv/bin/pip install --no-cache-dir --no-deps --no-compile -r /requirements.txt
# What neither building from GGUF or IR nor serving on a CPU uses.
RUN cd /opt/venv/lib/python3.11/site-packages \
 && rm -rf pip pip-* setuptools setuptools-* pkg_resources _distutils_hack distutils-precedence.pth \
 && cd openvino/libs \
 && rm -f cache.json libopenvino_intel_gpu_plugin.so libopenvino_intel_npu_plugin.so \
      libopenvino_auto_plugin.so libopenvino_auto_batch_plugin.so libopenvino_hetero_plugin.so \
      libopenvino_onnx_frontend.so.* libopenvino_paddle_frontend.so.* libopenvino_pytorch_frontend.so.* \
      libopenvino_tensorflow_frontend.so.* libopenvino_tensorflow_lite_frontend.so.* libopenvino_jax_frontend.so.* \
 && cd ../.. \
 && find pytriton/tritonserver/python_backend_stubs -mindepth 1 -maxdepth 1 ! -name 3.11 -exec rm -r {} + \
 && rm -f nvidia_pytriton.libs/libpython3-*.13.so.* \
 && find . \( -name '*.pyi' -o -name '*.h' -o -name '*.hpp' -o -name '*.a' -o -name '*.pxd' \) -delete \
 && find . -type d \( -name tests -o -name test \) -prune -exec rm -rf {} + \
 && rm -rf numpy/f2py numpy/distutils \
 && find /opt/venv/bin -type f -delete
# Stable paths for Triton, whatever the wheel is called. The stub is linked, never copied: it finds its libraries relative to its own place.
RUN site=/opt/venv/lib/python3.11/site-packages \
 && ln -s ../../python_backend_stubs/3.11/triton_python_backend_stub "$site/pytriton/tritonserver/backends/python/triton_python_backend_stub" \
 && mkdir /opt/tritonserver \
 && for part in bin backends caches; do ln -s "$site/pytriton/tritonserver/$part" "/opt/tritonserver/$part"; done \
 # Triton's stub ignores PYTHONPATH: packages of the pipeline image come in this way.
 && echo /repository-python > "$site/repository-python.pth" \
 && printf '#!/opt/venv/bin/python3\nfrom vertical_engines.cli import app\n\napp()\n' > /opt/venv/bin/vertical-engines \
 && chmod 755 /opt/venv/bin/vertical-engines \
 # A read-only root can't write bytecode later.
 && python3 -m compileall -q --invalidation-mode unchecked-hash "$site"

FROM dependencies AS code
COPY engines/vertical_engines /code/vertical_engines
RUN find /code -name __pycache__ -prune -exec rm -r {} + \
 && chmod -R a+rX /code \
 && python3 -m compileall -q --invalidation-mode unchecked-hash -s /code -p /opt/venv/lib/python3.11/site-packages /code

FROM debian:12-slim
# libpython3.11: what Triton's stub for 3.11 is linked against. busybox-static: copied into any user's image to fetch models and pipelines. ca-certificates: models over the network.
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 libpython3.11 busybox-static ca-certificates \
 && rm -rf /var/lib/apt/lists/* /var/log/* /usr/share/doc/* /usr/share/man/* \
 && useradd --uid 1000 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin vertical
COPY --from=dependencies /opt/tritonserver /opt/tritonserver
COPY --from=dependencies /opt/venv /opt/venv
COPY --from=code /code/ /opt/venv/lib/python3.11/site-packages/
ENV PATH=/opt/venv/bin:/opt/tritonserver/bin:/usr/local/bin:/usr/bin:/bin \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 1000:1000
# What was trimmed away must not be missed: by the interpreter, by Triton's stub, by the server.
RUN python3 -c "import openvino_genai, tritonclient.grpc, tokenizers, safetensors, gguf, vertical_engines.cli, vertical_engines.sources.hub, vertical_engines.sources.hub_cache, vertical_engines.sources.object_store, vertical_engines.store.registry" \
 && for part in bin/tritonserver backends/python/triton_python_backend_stub caches/local/libtritoncache_local.so; do \
      ! ldd "/opt/tritonserver/$part" | grep 'not found' || exit 1; \
    done
CMD ["vertical-engines", "--help"]
