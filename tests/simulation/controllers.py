"""Stand-ins for what runs beside the operator in a cluster: Job and Deployment controllers, kubelet, volume binder, garbage collector.

Each `step` moves everything one stage on, so that a reconcile sees the stages in between: a pod that waits, a pod that is ready.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.support.memory_cluster import MemoryCluster
from vertical_engines.contract.build import EXIT_USER_ERROR, REQUEST_VARIABLE, BuildFailure, BuildOutcome, BuildRequest
from vertical_engines.contract.manifest import ManifestSummary
from vertical_operator.kube.port import Manifest

Builder = Callable[[BuildRequest], BuildOutcome]
"""What the build container leaves as its termination message."""


def built(request: BuildRequest) -> BuildOutcome:
    """A build that goes well."""
    summary = ManifestSummary(
        key=request.key, manifest_digest="d" * 64, size_bytes=1000, build_seconds=1.0, built_at="2026-01-01T00:00:00Z", verified=True
    )
    return BuildOutcome(manifest=summary)


def failing(failure: BuildFailure) -> Builder:
    return lambda _request: BuildOutcome(failure=failure)


class Controllers:
    """The rest of the cluster. `builder` decides how builds end; `serves` whether pods of a Deployment become ready."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self.cluster = cluster
        self.builder: Builder = built
        self.builds_end = True
        self.serves: Callable[[Manifest], bool] = lambda _deployment: True

    def step(self) -> bool:
        """One stage for everything; False when nothing moved."""
        before = self.cluster.version
        for claim in self.cluster.all("PersistentVolumeClaim"):
            if (claim.get("status") or {}).get("phase") != "Bound":
                self._status(claim, {"phase": "Bound"})
        for job in self.cluster.all("Job"):
            self._step_job(job)
        for deployment in self.cluster.all("Deployment"):
            self._step_deployment(deployment)
        self.cluster.collect_garbage()
        return self.cluster.version != before

    def _status(self, body: Manifest, status: Mapping[str, Any]) -> None:
        self.cluster.set_status(body["kind"], body["metadata"]["namespace"], body["metadata"]["name"], status=status)

    def _step_job(self, job: Manifest) -> None:
        status = job.get("status") or {}
        if any(condition["type"] in {"Complete", "Failed"} for condition in status.get("conditions") or []):
            return
        name = f"{job['metadata']['name']}-{job['metadata']['uid'].removeprefix('uid-')}"
        pod = self.cluster.find("Pod", job["metadata"]["namespace"], name)
        if pod is None:
            self._create_pod(name, job, phase="Running")
            self._status(job, {"startTime": self.cluster.now, "active": 1})
            return
        outcome = self._outcome(job)
        if outcome is not None and not self.builds_end:
            return
        failed = outcome is not None and outcome.failure is not None
        self._end_pod(pod, outcome, failed=failed)
        condition = {"type": "Failed", "reason": "PodFailurePolicy"} if failed else {"type": "Complete", "reason": "CompletionsReached"}
        condition |= {"status": "True", "message": "", "lastTransitionTime": self.cluster.now}
        self._status(job, {"startTime": self.cluster.now, "conditions": [condition], "failed" if failed else "succeeded": 1})

    def _outcome(self, job: Manifest) -> BuildOutcome | None:
        for container in job["spec"]["template"]["spec"]["containers"]:
            for variable in container.get("env") or []:
                if variable["name"] == REQUEST_VARIABLE:
                    return self.builder(BuildRequest.model_validate_json(variable["value"]))
        return None

    def _end_pod(self, pod: Manifest, outcome: BuildOutcome | None, *, failed: bool) -> None:
        ended = {
            "exitCode": EXIT_USER_ERROR if failed else 0,
            "reason": "Error" if failed else "Completed",
            "message": outcome.to_termination_message() if outcome else "",
            "finishedAt": self.cluster.now,
        }
        statuses = [{"name": c["name"], "state": {"terminated": ended}, "restartCount": 0} for c in pod["spec"]["containers"]]
        self._status(pod, {"phase": "Failed" if failed else "Succeeded", "containerStatuses": statuses})

    def _step_deployment(self, deployment: Manifest) -> None:
        metadata, spec = deployment["metadata"], deployment["spec"]
        namespace, wanted = metadata["namespace"], spec["replicas"]
        mark = hashlib.sha256(json.dumps(spec["template"], sort_keys=True).encode()).hexdigest()[:8]
        mine = [
            pod for pod in self.cluster.all("Pod") if any(o["uid"] == metadata["uid"] for o in pod["metadata"].get("ownerReferences") or [])
        ]
        current = [pod for pod in mine if pod["metadata"]["name"].startswith(f"{metadata['name']}-{mark}-")]
        missing = wanted - len(current)
        for index in range(missing):
            self._create_pod(f"{metadata['name']}-{mark}-{len(current) + index}", deployment, phase="Pending")
        ready = missing <= 0 and self.serves(deployment)
        if ready:
            for pod in current:
                if not (pod.get("status") or {}).get("conditions"):
                    self._status(pod, {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})
            for pod in [pod for pod in mine if pod not in current]:
                self.cluster.remove("Pod", namespace, pod["metadata"]["name"])
        old = 0 if ready else len(mine) - len(current)
        progressing = {
            "type": "Progressing",
            "status": "True",
            "reason": "NewReplicaSetAvailable" if ready else "ReplicaSetUpdated",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        serving = old + (wanted if ready else 0)
        status = {
            "observedGeneration": metadata["generation"],
            "replicas": old + wanted,
            "updatedReplicas": wanted,
            "readyReplicas": serving,
            "availableReplicas": serving,
            "conditions": [progressing],
        }
        self._status(deployment, status)

    def _create_pod(self, name: str, owner: Manifest, *, phase: str) -> None:
        template, metadata = owner["spec"]["template"], owner["metadata"]
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": metadata["name"],
            "uid": metadata["uid"],
            "controller": True,
        }
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**template.get("metadata", {}), "name": name, "namespace": metadata["namespace"], "ownerReferences": [reference]},
            "spec": template["spec"],
        }
        self._status(self.cluster.create(body), {"phase": phase})
