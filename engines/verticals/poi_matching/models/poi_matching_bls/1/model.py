"""Entry model of POI matching; the code is in the package poi_matching, beside the model folders of the image."""

from poi_matching.bls import PoiMatchingBls as TritonPythonModel  # type: ignore[import-not-found]

__all__ = ["TritonPythonModel"]
