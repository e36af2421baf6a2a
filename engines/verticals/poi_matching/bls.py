"""The entry model: calls encoder and SLM, and leaves every decision to the logic modules."""

from pathlib import Path

from vertical_engines.sdk import TritonPythonModel

from .index import load_index
from .logic.decision import decide
from .logic.prompt import MAX_TOKENS, build_prompt, read_vote
from .logic.retrieval import Ranked
from .schemas import BlsRequest, BlsResponse, Candidate, EncoderRequest, EncoderResponse, GeneratorRequest, GeneratorResponse

SHOWN_CANDIDATES = 5
ENCODER = "encoder"
DEFAULT_GENERATOR = "generator"


class PoiMatchingBls(TritonPythonModel[BlsRequest, BlsResponse]):
    """Parameters of config.pbtxt: `generator_model` (Triton name of the SLM), `variant` (repeated in the answer)."""

    request_model = BlsRequest
    response_model = BlsResponse
    public = True
    concurrency = 8
    """As many as the background variant generates for at once."""

    def setup(self) -> None:
        self._generator = self.parameters.get("generator_model") or DEFAULT_GENERATOR
        self._variant = self.parameters.get("variant", "")
        folder = Path(self.arguments["model_repository"])
        self._index = load_index(folder / self.arguments["model_version"] / "index", encoder=folder.parent / ENCODER)

    def handle(self, request: BlsRequest) -> BlsResponse:
        receipt = request.comparable()
        encoded = self._infer_model(EncoderRequest(text=[receipt.text]), EncoderResponse, ENCODER)
        ranked = self._index.search(encoded.embedding[0], receipt, limit=SHOWN_CANDIDATES)
        prompt = build_prompt(
            name=f"{request.name or ''} {request.subname or ''}", address=" ".join(request.address or []), place=ranked[0].place
        )
        answer = self._infer_model(GeneratorRequest(prompt=prompt, max_tokens=MAX_TOKENS), GeneratorResponse, self._generator)
        match = decide(ranked)
        place = match.place if match else None
        return BlsResponse(
            matched=place is not None,
            score=ranked[0].score,
            place_id=place.place_id if place else None,
            name=f"{place.name} {place.branch}".strip() if place else None,
            address=place.address if place else None,
            tel=place.tel if place else None,
            candidates=[_shown(one) for one in ranked],
            generated=answer.text,
            generator_vote=read_vote(answer.text),
            engine=answer.engine,
            variant=self._variant,
        )


def _shown(one: Ranked) -> Candidate:
    features, place = one.features, one.place
    return Candidate(
        place_id=place.place_id,
        name=place.name,
        branch=place.branch,
        address=place.address,
        score=round(one.score, 4),
        cosine=round(features.cosine, 4),
        name_similarity=_rounded(features.name),
        branch_similarity=_rounded(features.branch),
        address_similarity=_rounded(features.address),
        phone_equal=features.phone_equal,
        biznum_equal=features.biznum_equal,
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
