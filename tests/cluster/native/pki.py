"""Certificates and kubeconfigs of a native cluster: a real authority and one client certificate per component, by openssl."""

import base64
import json
import tempfile
from pathlib import Path

from tests.cluster.native.addresses import API_SERVICE, NODE, NODE_ADDRESS
from tests.cluster.shell import output

CLIENTS = {
    "admin": "/O=system:masters/CN=admin",
    "controllers": "/CN=system:kube-controller-manager",
    "scheduler": "/CN=system:kube-scheduler",
    "proxy": "/CN=system:kube-proxy",
    "kubelet": f"/O=system:nodes/CN=system:node:{NODE}",
    "front-proxy": "/CN=front-proxy",
}
_SERVER_NAMES = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
_DAYS = "3650"


def write_pki(folder: Path, *, port: int, kubeconfig: Path) -> None:
    """Fill `folder` with keys, certificates and `<client>.conf`, and write the administrator's kubeconfig."""
    folder.mkdir(mode=0o700, parents=True)
    _key(folder / "sa.key")
    _key(folder / "ca.key")
    output(["openssl", "req", "-x509", "-new", "-key", "ca.key", "-out", "ca.crt", "-days", _DAYS, "-subj", "/CN=cluster-ca"], cwd=folder)
    names = [f"DNS:{name}" for name in _SERVER_NAMES] + [f"IP:{address}" for address in ("127.0.0.1", NODE_ADDRESS, API_SERVICE)]
    _certificate(folder, "apiserver", subject="/CN=kube-apiserver", names=names)
    for client, subject in CLIENTS.items():
        _certificate(folder, client, subject=subject)
        if client not in ("admin", "front-proxy"):
            (folder / f"{client}.conf").write_text(_kubeconfig(folder, client, port=port))
    kubeconfig.touch(mode=0o600)
    kubeconfig.write_text(_kubeconfig(folder, "admin", port=port))


def _key(path: Path) -> None:
    output(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path])


def _certificate(folder: Path, name: str, *, subject: str, names: list[str] | None = None) -> None:
    _key(folder / f"{name}.key")
    output(["openssl", "req", "-new", "-key", f"{name}.key", "-subj", subject, "-out", f"{name}.csr"], cwd=folder)
    with tempfile.NamedTemporaryFile("w", suffix=".ext") as extensions:
        extensions.write("extendedKeyUsage=serverAuth,clientAuth\n")
        if names:
            extensions.write(f"subjectAltName={','.join(names)}\n")
        extensions.flush()
        authority = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", _DAYS]
        request = ["openssl", "x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", "-extfile", extensions.name]
        output([*request, *authority], cwd=folder)


def _kubeconfig(folder: Path, user: str, *, port: int) -> str:
    """The same port inside and outside of the cluster's network, so one file serves both."""

    def data(name: str) -> str:
        return base64.b64encode((folder / name).read_bytes()).decode()

    server = {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": data("ca.crt")}
    keys = {"client-certificate-data": data(f"{user}.crt"), "client-key-data": data(f"{user}.key")}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "vertical",
            "contexts": [{"name": "vertical", "context": {"cluster": "vertical", "user": user}}],
            "clusters": [{"name": "vertical", "cluster": server}],
            "users": [{"name": user, "user": keys}],
        },
        indent=1,
    )
