# The node of a kind cluster, for machines that can't pull kind's own: kind's base files, Debian's systemd and container runtime,
# and Kubernetes' binaries as the harness compiled them. The context is made by node_image.py.
FROM debian:12-slim
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      bash ca-certificates conntrack containerd containernetworking-plugins curl e2fsprogs ebtables ethtool iproute2 iptables jq kmod \
      libseccomp2 mount nftables procps runc socat systemd util-linux \
 && rm -rf /var/lib/apt/lists/*
COPY files/ /
COPY bin/ /usr/local/bin/
COPY images/ /kind/images/
COPY version /kind/version
COPY bridge.conflist /etc/cni/net.d/10-bridge.conflist
COPY load-images.service /etc/systemd/system/
RUN chmod 755 /kind /kind/bin /kind/bin/* /usr/local/bin/* \
 # kind's units and scripts expect programs at these places
 && ln -s /usr/bin/containerd /usr/bin/ctr /usr/bin/containerd-shim-runc-v2 /usr/local/bin/ \
 && ln -s /usr/local/bin/kubelet /usr/bin/kubelet \
 && ln -s /usr/lib/systemd/systemd /sbin/init \
 && mkdir -p /etc/kubernetes/manifests /opt/cni \
 && ln -s /usr/lib/cni /opt/cni/bin \
 # a container has neither devices nor disks to manage
 && rm -f /lib/systemd/system/multi-user.target.wants/* /etc/systemd/system/*.wants/* /lib/systemd/system/local-fs.target.wants/* \
      /lib/systemd/system/sockets.target.wants/*udev* /lib/systemd/system/sockets.target.wants/*initctl* \
      /lib/systemd/system/basic.target.wants/* /lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service \
 && echo ReadKMsg=no >>/etc/systemd/journald.conf \
 && systemctl enable kubelet containerd undo-mount-hacks load-images \
 && systemctl mask systemd-binfmt systemd-sysctl \
 && ctr oci spec | jq '.hooks.createContainer += [{"path": "/kind/bin/mount-product-files.sh"}] | del(.process.rlimits)' >/etc/containerd/cri-base.json
ENV container=docker
STOPSIGNAL SIGRTMIN+3
ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]
