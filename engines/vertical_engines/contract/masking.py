"""Lines of foreign programs before they are kept: secrets masked, progress bars reduced to their last state, length bounded."""

import re

MASK = "***"
READ = 8
"""Times the limit: what is read of a line at most, since a graph in one line has millions of characters."""

_PATTERNS = (
    # user and password of an address
    (re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"), MASK),
    (re.compile(r"(?i)\b((?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?(?:\w+\s+)?)[^\s\"',;]+"), rf"\1{MASK}"),
    (re.compile(r"(?i)\b(bearer\s+)[^\s\"',;]+"), rf"\1{MASK}"),
    (
        re.compile(
            r"(?i)([\w-]{0,40}(?:password|passwd|secret|api[-_]?key|access[-_]?key|credential|signature)[\"']?\s*[:=]\s*[\"']?)[^\s\"',;&]+"
        ),
        rf"\1{MASK}",
    ),
    # `eos_token: </s>` is no secret: one is long.
    (re.compile(r"(?i)([\w-]{0,40}token[\"']?\s*[:=]\s*[\"']?)[^\s\"',;&]{12,}"), rf"\1{MASK}"),
    # tokens of hubs and clouds, and signed web tokens, wherever they stand
    (
        re.compile(r"\b(?:hf_|nvapi-|ghp_|github_pat_|glpat-)[\w-]{8,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"),
        MASK,
    ),
)


def masked(text: str) -> str:
    """The text without what looks like a secret."""
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def kept_line(text: str, *, limit: int) -> str:
    """One line as it may be shown: at most `limit` characters, counted after masking, so that no secret is cut in two and shown."""
    return masked(text.rstrip().rsplit("\r", 1)[-1][: READ * limit])[:limit]
