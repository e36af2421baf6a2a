"""From the port of a fetching container to the operator: the line itself, how often it is asked for, and pods that do not answer."""

import socket

from vertical_engines.progress_port import shown
from vertical_operator.runtime.build_progress import BuildProgress, ask
from vertical_operator.runtime.keys import Key

KEY = Key("Engine", "default", "engine-1")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        return int(held.getsockname()[1])


async def test_the_newest_line_is_read_over_the_port() -> None:
    port, lines = free_port(), list[str]()
    with shown(lines.append, port=port) as say:
        assert await ask("127.0.0.1", port=port) == ""
        say("fetching: 1.0 MB of 2.0 MB")
        say("fetching: 2.0 MB of 2.0 MB\nand more" + "x" * 1000)
        told = await ask("127.0.0.1", port=port)
    assert told.startswith("fetching: 2.0 MB of 2.0 MB and more")
    assert len(told) <= 300
    assert lines[0] == "fetching: 1.0 MB of 2.0 MB"
    assert await ask("127.0.0.1", port=port) == "", "nobody there is no error"


def test_a_port_that_is_taken_costs_the_display_only() -> None:
    lines = list[str]()
    with socket.create_server(("0.0.0.0", 0)) as taken, shown(lines.append, port=taken.getsockname()[1]) as say:
        say("on it goes")
    assert "log only" in lines[0]
    assert lines[-1] == "on it goes"


async def test_a_flood_of_looks_asks_once_in_ten_seconds() -> None:
    now, asked = [0.0], list[str]()

    async def count(address: str) -> str:
        asked.append(address)
        return f"line {len(asked)}"

    progress = BuildProgress(clock=lambda: now[0], ask=count)
    assert [await progress.line(KEY, "10.0.0.7") for _ in range(50)] == ["line 1"] * 50
    now[0] = 9.9
    assert await progress.line(KEY, "10.0.0.7") == "line 1"
    now[0] = 10.0
    assert await progress.line(KEY, "10.0.0.7") == "line 2"
    assert await progress.line(KEY, None) == ""
    assert await progress.line(KEY, "10.0.0.8") == "line 3", "another pod is asked at once"
    assert asked == ["10.0.0.7", "10.0.0.7", "10.0.0.8"]
