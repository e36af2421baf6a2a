"""The last words of the demo: how to look at what it left running."""

from tests.cluster.cluster import Cluster
from tests.cluster.gotools import ensure_tools
from tests.demo.service import NAME, NAMESPACE

CURL_BODY = '{"inputs":[{"name":"name","datatype":"BYTES","shape":[1],"data":["blue lantern coffee"]}]}'


def explain(cluster: Cluster) -> None:
    """Print commands that can be pasted as they are."""
    print(cluster.kubectl("get", "vsvc,engines,pods", namespace=NAMESPACE))
    print("It stays up. To look around:\n")
    print(f"  export KUBECONFIG={cluster.kubeconfig} PATH={ensure_tools(['kubectl'])}:$PATH")
    print(f"  kubectl -n {NAMESPACE} get vsvc,engines -o wide")
    print(f"  kubectl -n {NAMESPACE} port-forward service/{NAME}-realtime 8000 &")
    print(f"  curl -s localhost:8000/v2/models/poi_matching_bls/infer -d '{CURL_BODY}'\n")
    print("`make demo-down` removes every trace.")
