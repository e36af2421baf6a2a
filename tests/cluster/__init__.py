"""A real Kubernetes for tests and the demo, through one interface with two providers.

`native` runs Kubernetes' own binaries (compiled once from pinned Go modules) and Debian's containerd in namespaces of their own:
Linux and root are all it needs. `kind` uses the machine's Docker or Podman. Nothing stays on the machine's network, and
everything lives in one cache folder (`~/.cache/vertical-operator`, or VERTICAL_CACHE). There is no cluster DNS: nothing in the
product needs it. Volumes: the default StorageClass binds on first use, and serves ReadWriteMany as well.

Command line (`--name` defaults to `vertical`, `--provider` to kind where an engine answers, else native):

    python -m tests.cluster up | down | status | images | kubeconfig
    python -m tests.cluster load IMAGE.tar... | run COMMAND...

From Python:

    from tests.cluster.cluster import Cluster
    from tests.cluster.bootstrap import bring_up
    from tests.cluster.images import ensure_images
    from tests.cluster.operator_install import install_operator, remove_operator
    from tests.cluster.fake_gpus import add_fake_gpu_nodes, remove_fake_gpu_nodes
    from tests.cluster.faults import kill_container, small_volume
    from tests.cluster.progress import say, step          # lines with elapsed time
    from tests.cluster.waiting import eventually           # eventually(what, probe, timeout=60)

    cluster = Cluster.named("vertical")       # nothing happens yet
    bring_up(cluster)                         # may be repeated; about 10 s, minutes the first time
    ensure_images(cluster)                    # builds what changed, loads what is missing; may be given some references only
    install_operator(cluster)                 # helm upgrade --install of charts/vertical-operator, waits until it is available
    cluster.provider.down()

    cluster.kubeconfig                        # Path; works from the machine's own network
    cluster.environment                       # {"KUBECONFIG": ..., "PATH": ...} for programs that call kubectl
    cluster.kubectl("get", "pods", namespace="place")                 -> str, ClusterError when it fails
    cluster.apply(Path("x.yaml") | "text" | {...} | [{...}], namespace=...)     server-side, forced
    cluster.refused(object, namespace=...)    -> what the server said when it refused (AssertionError if it accepted)
    cluster.get("vsvc", "poi-matching", namespace=...)                -> dict | None; cluster.the(...) when it must be there
    cluster.objects("pods", namespace=..., selector="a=b")            -> list[dict]
    cluster.delete("vsvc", "poi-matching", namespace=..., wait=True)
    cluster.wait("vsvc", "poi-matching", "Ready", status="True", namespace=..., timeout=120)  -> dict
    cluster.logs(pod, container=..., namespace=..., previous=False); cluster.exec(pod, ["ls"], container=..., namespace=...)
    cluster.run(["curl", "http://10.225.0.7:8000"])                   a program inside the cluster's network
    with cluster.forward("place", "poi-matching-realtime", 8000) as address:    "127.0.0.1:43211" -> the Service's own address
    with cluster.forward_pod("place", "pod-name", 8090) as address:
    cluster.helm("list", "-A")

Pytest fixtures (tests/cluster/conftest.py): `cluster` (session: reuses a running one called VERTICAL_CLUSTER if that is set, else
starts one of its own and ends it), `namespace` (fresh, Pod Security `restricted` enforced, deleted afterwards),
`operator` (session: images loaded and the chart installed), `gpu_nodes` (session: two fake nodes each of T4 and A100).
"""
