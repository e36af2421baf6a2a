"""Makes the image of a kind node on a machine that can't pull one: real kubeadm, real control plane, from our own binaries."""

import hashlib
import json
import shutil
import tempfile
from pathlib import Path

from tests.cluster.buildah import build_with_buildah
from tests.cluster.golang import go
from tests.cluster.gotools import TOOLS, ensure_tools, fingerprint, kubernetes_version
from tests.cluster.image_archive import write_image
from tests.cluster.locations import HERE, cache_folder, images_folder
from tests.cluster.native.configuration import bridge_network
from tests.cluster.progress import step
from tests.cluster.shell import output

REFERENCE = "localhost/vertical-kind-node:1"
POD_NETWORK = "10.244.0.0/24"
"""Within what kind hands out by default."""

_ON_NODE = ("kubeadm", "kubelet", "kubectl")
_CONTROL_PLANE = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")
_BINARIES = (*_ON_NODE, *_CONTROL_PLANE, "kube-proxy", "coredns", "pause")
_LOAD_IMAGES = """\
[Unit]
Description=Images of the control plane, into the node's store
After=containerd.service
Requires=containerd.service

[Service]
Type=oneshot
ExecStart=/bin/sh -c 'for archive in /kind/images/*.tar; do ctr -n k8s.io images import "$archive"; done'

[Install]
WantedBy=multi-user.target
"""


def node_image() -> Path:
    """Docker archive of the node image, made unless the cache has it. Needs root; about three minutes when all binaries exist."""
    binaries = ensure_tools(_BINARIES)
    recipe = hashlib.sha256(b"".join(path.read_bytes() for path in (HERE / "kind/node.Dockerfile", Path(__file__))))
    recipe.update("".join(fingerprint(TOOLS[name]) for name in _BINARIES).encode())
    archive = images_folder() / f"vertical-kind-node-{recipe.hexdigest()[:12]}.tar"
    if not archive.exists():
        with step("Build the image of a kind node", usual=120), tempfile.TemporaryDirectory(dir=cache_folder()) as work:
            context = Path(work)
            _fill(context, binaries)
            build_with_buildah(REFERENCE, HERE / "kind/node.Dockerfile", context=context, archive=archive, form="docker-archive")
    return archive


def _fill(context: Path, binaries: Path) -> None:
    (context / "version").write_text(kubernetes_version())
    (context / "load-images.service").write_text(_LOAD_IMAGES)
    (context / "bridge.conflist").write_text(json.dumps(bridge_network(POD_NETWORK)))
    (context / "bin").mkdir()
    (context / "images").mkdir()
    for name in _ON_NODE:
        shutil.copy2(binaries / name, context / "bin")
    names = _wanted_names(binaries / "kubeadm")
    for name in (*_CONTROL_PLANE, "coredns", "pause"):
        _image(
            names[name], binaries / name, archive=context / "images" / f"{name}.tar", at="/usr/local/bin" if name in _CONTROL_PLANE else ""
        )
    _proxy_image(names["kube-proxy"], binaries / "kube-proxy", archive=context / "images/kube-proxy.tar")
    _base_files(context / "files", pause=names["pause"])


def _wanted_names(kubeadm: Path) -> dict[str, str]:
    """Last part of the name → reference, as this kubeadm will ask for it."""
    listed = output([kubeadm, "config", "images", "list", "--kubernetes-version", kubernetes_version()])
    return {reference.rpartition("/")[2].partition(":")[0]: reference for reference in listed.split()}


def _image(reference: str, binary: Path, *, archive: Path, at: str) -> None:
    with tempfile.TemporaryDirectory(dir=cache_folder()) as work:
        folder = Path(work + at)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy2(binary, folder)
        write_image(reference, Path(work), archive, entrypoint=[] if at else [f"/{binary.name}"])


def _proxy_image(reference: str, binary: Path, *, archive: Path) -> None:
    """kube-proxy needs iptables beside it."""
    with tempfile.TemporaryDirectory(dir=cache_folder()) as work:
        dockerfile = Path(work) / "Dockerfile"
        install = "apt-get update && apt-get install -y --no-install-recommends iptables conntrack && rm -rf /var/lib/apt/lists/*"
        dockerfile.write_text(f"FROM debian:12-slim\nRUN {install}\nCOPY kube-proxy /usr/local/bin/\n")
        shutil.copy2(binary, work)
        build_with_buildah(reference, dockerfile, context=Path(work), archive=archive, form="docker-archive")


def _base_files(target: Path, *, pause: str) -> None:
    """kind's own base files, from its Go module, with what this machine can't do taken out."""
    module = output([go(), "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kind"], cwd=HERE / "tools/extras").strip()
    shutil.copytree(Path(module) / "images/base/files", target)
    for path in target.rglob("*"):
        path.chmod(path.stat().st_mode | 0o200)
    configuration = target / "etc/containerd/config.toml"
    lines = configuration.read_text().splitlines()
    start = lines.index("[proxy_plugins]")
    end = next(index for index in range(start + 1, len(lines)) if lines[index].startswith("[") and "proxy_plugins" not in lines[index])
    text = "\n".join(lines[:start] + lines[end:])  # no fuse-overlayfs here
    text = text.replace("restrict_oom_score_adj = false", "restrict_oom_score_adj = true")
    sandbox = next(line for line in text.splitlines() if "sandbox_image" in line)
    configuration.write_text(text.replace(sandbox, f'  sandbox_image = "{pause}"') + "\n")
