"""Parameters of the SLM's configuration as properties of OpenVINO's CPU device."""

from pathlib import Path

from vertical_engines.models.openvino_loading import Loading

KEY = {"engine_key": "0123456789abcdef"}
SCRATCH = Path("/scratch")


def test_nothing_given_leaves_everything_to_openvino() -> None:
    loading = Loading.from_parameters(KEY, scratch=SCRATCH, cached=False)
    assert (loading.device(), loading.value_bytes) == ({}, 2)


def test_each_parameter_is_a_property() -> None:
    given = {
        **KEY,
        "inference_precision": "f32",
        "kv_cache_precision": "f32",
        "dynamic_quantization_group_size": "0",
        "threads": "2",
    }
    loading = Loading.from_parameters(given, scratch=SCRATCH, cached=False)
    assert loading.device() == {
        "INFERENCE_PRECISION_HINT": "f32",
        "KV_CACHE_PRECISION": "f32",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
        "INFERENCE_NUM_THREADS": 2,
    }
    assert loading.value_bytes == 4


def test_compiled_blobs_stay_in_scratch_one_folder_an_engine() -> None:
    kept = Loading.from_parameters(KEY, scratch=SCRATCH, cached=True)
    assert kept.device() == {"CACHE_DIR": "/scratch/openvino-compiled/0123456789"}
    assert Loading.from_parameters({**KEY, "compiled_cache": "false"}, scratch=SCRATCH, cached=True).device() == {}
    assert Loading.from_parameters({**KEY, "compiled_cache": "true"}, scratch=SCRATCH, cached=False).device() == kept.device()
