"""Configuration files and command lines of the daemons of a native cluster. Pure: values in, text out."""

import json
from pathlib import Path
from typing import Any

from tests.cluster.native.addresses import DNS_SERVICE, NODE, NODE_ADDRESS, PAUSE_IMAGE, PODS, SERVICES


def files(state: Path, *, cni: Path, cgroup: str) -> dict[str, str]:
    """Name in `<state>/etc` → content."""
    return {
        "resolv.conf": "",
        "containerd.toml": _containerd(state, cni=cni),
        "cni/10-bridge.conflist": json.dumps(bridge_network(PODS)),
        "kubelet.yaml": json.dumps(_kubelet(state, cgroup=cgroup)),
        "proxy.yaml": json.dumps(_proxy(state)),
        "audit.yaml": json.dumps(_audit()),
    }


def daemons(*, port: int) -> dict[str, list[str]]:
    """Name → command line, in the order of their start; paths are relative to the state folder."""
    pki = {name: f"pki/{name}" for name in ("ca.crt", "ca.key", "sa.key", "admin.crt", "admin.key", "front-proxy.crt", "front-proxy.key")}

    def own(client: str) -> list[str]:
        return [f"{flag}=pki/{client}.conf" for flag in ("--kubeconfig", "--authentication-kubeconfig", "--authorization-kubeconfig")]

    return {
        "etcd": ["etcd", "--data-dir=/var/lib/etcd", "--unsafe-no-fsync", "--listen-peer-urls=http://127.0.0.1:2380"],
        "apiserver": [
            "kube-apiserver",
            "--etcd-servers=http://127.0.0.1:2379",
            f"--secure-port={port}",
            f"--advertise-address={NODE_ADDRESS}",
            f"--service-cluster-ip-range={SERVICES}",
            "--allow-privileged",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--client-ca-file={pki['ca.crt']}",
            "--tls-cert-file=pki/apiserver.crt",
            "--tls-private-key-file=pki/apiserver.key",
            f"--kubelet-client-certificate={pki['admin.crt']}",
            f"--kubelet-client-key={pki['admin.key']}",
            "--kubelet-preferred-address-types=InternalIP",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki['sa.key']}",
            f"--service-account-signing-key-file={pki['sa.key']}",
            f"--requestheader-client-ca-file={pki['ca.crt']}",
            "--requestheader-allowed-names=front-proxy",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={pki['front-proxy.crt']}",
            f"--proxy-client-key-file={pki['front-proxy.key']}",
            "--audit-policy-file=etc/audit.yaml",
            "--audit-log-path=log/audit.jsonl",
        ],
        "containerd": ["containerd", "--config=etc/containerd.toml"],
        "controllers": [
            "kube-controller-manager",
            *own("controllers"),
            f"--root-ca-file={pki['ca.crt']}",
            "--leader-elect=false",
            f"--service-account-private-key-file={pki['sa.key']}",
            "--use-service-account-credentials",
            f"--cluster-signing-cert-file={pki['ca.crt']}",
            f"--cluster-signing-key-file={pki['ca.key']}",
        ],
        "scheduler": ["kube-scheduler", *own("scheduler"), "--leader-elect=false"],
        "kubelet": ["kubelet", "--config=etc/kubelet.yaml", "--kubeconfig=pki/kubelet.conf", f"--node-ip={NODE_ADDRESS}"],
        "proxy": ["kube-proxy", "--config=etc/proxy.yaml", f"--hostname-override={NODE}"],
    }


def _containerd(state: Path, *, cni: Path) -> str:
    # restrict_oom_score_adj: inside a container or a small VM nobody may lower a score, and every sandbox asks for it
    return f"""version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "{cni}"
  conf_dir = "{state}/etc/cni"
"""


def bridge_network(pods: str) -> dict[str, Any]:
    """A CNI configuration: pods with addresses of `pods` on a bridge of the node."""
    addresses = {"type": "host-local", "ranges": [[{"subnet": pods}]], "routes": [{"dst": "0.0.0.0/0"}]}
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": True, "hairpinMode": True, "ipam": addresses}
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge, ports]}


def _kubelet(state: Path, *, cgroup: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True}, "x509": {"clientCAFile": f"{state}/pki/ca.crt"}},
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup,
        "failCgroupV1": False,
        "failSwapOn": False,
        "clusterDNS": [DNS_SERVICE],
        "clusterDomain": "cluster.local",
        "resolvConf": f"{state}/etc/resolv.conf",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,  # a loaded image can't be pulled again
    }


def _proxy(state: Path) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "clusterCIDR": PODS,
        "clientConnection": {"kubeconfig": f"{state}/pki/proxy.conf"},
        "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},  # host-wide sysctls: not ours to set
    }


def _audit() -> dict[str, Any]:
    """Log who wrote what, so that tests can count writes; reads and Kubernetes' own components are left out."""
    writes = ["create", "update", "patch", "delete", "deletecollection"]
    accounts = {
        "level": "Metadata",
        "verbs": writes,
        "userGroups": ["system:serviceaccounts", "system:masters"],
        "omitStages": ["RequestReceived"],
    }
    own = {"level": "None", "userGroups": ["system:serviceaccounts:kube-system", "system:nodes"]}
    return {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [own, accounts, {"level": "None"}]}
