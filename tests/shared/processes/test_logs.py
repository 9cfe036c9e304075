import json
import logging
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any

import pytest

from nodeworthy.processes import EventLog, LogFormat, configure_logs
from nodeworthy.processes.logs import MAX_ITEMS, MAX_TEXT, MAX_TRACE
from nodeworthy.processes.repeats import SILENCE_SECONDS, Repeats

Configure = Callable[..., StringIO]


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def configure() -> Iterator[Configure]:
    """Configure the logs onto a stream, and put everything back after the test."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level

    def use(stream: StringIO | None = None, **options: Any) -> StringIO:
        stream = stream or StringIO()
        configure_logs(stream=stream, **options)
        return stream

    yield use
    logging.captureWarnings(capture=False)
    root.handlers, root.level = before, level


def only_line(stream: StringIO) -> dict[str, Any]:
    (line,) = stream.getvalue().splitlines()
    content: dict[str, Any] = json.loads(line)
    return content


EVENTS = EventLog("test")


def test_an_event_is_one_json_object_with_its_fields(configure: Configure) -> None:
    stream = configure()
    EVENTS.warning("detector.source_failed", source="pci", count=3, done=False, share=0.5, reason=None)
    line = only_line(stream)
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "warning",
        "event": "detector.source_failed",
        "source": "pci",
        "count": 3,
        "done": False,
        "share": 0.5,
        "reason": None,
    }


def test_a_terminal_gets_text_and_everything_else_json(configure: Configure) -> None:
    terminal = configure(Terminal())
    EVENTS.info("bus.connected", url="nats://127.0.0.1:4222", text="two words", empty="", sets=["a", "b"])
    line = terminal.getvalue().partition(" ")[2]
    assert line == 'INFO    bus.connected url=nats://127.0.0.1:4222 text="two words" empty="" sets=["a", "b"]\n'
    EVENTS.info("again")
    assert not terminal.getvalue().startswith("{")
    forced = configure(Terminal(), form=LogFormat.JSON)
    EVENTS.info("bus.connected")
    assert only_line(forced)["event"] == "bus.connected"


@pytest.mark.parametrize("form", [LogFormat.JSON, LogFormat.TEXT])
@pytest.mark.parametrize("text", ["a\nb", "\x1b[2J", "\x9b2J", "\ud800", "a\u2028b"])
def test_no_value_can_begin_a_line_or_move_the_cursor(configure: Configure, form: LogFormat, text: str) -> None:
    stream = configure(form=form)
    EVENTS.info("event", value=text)
    written = stream.getvalue()
    assert written.endswith("\n")
    assert written[:-1].isprintable()


def test_a_percent_sign_in_a_value_or_event_means_nothing(configure: Configure) -> None:
    stream = configure()
    EVENTS.info("100%s", value="%d %s")
    assert only_line(stream)["event"] == "100%s"


def test_fields_cannot_take_the_place_of_the_time_or_the_event(configure: Configure) -> None:
    stream = configure()
    EVENTS.info("real", event="forged", time="never", level="none", message="m")
    line = only_line(stream)
    assert (line["event"], line["event_"], line["level"], line["level_"]) == ("real", "forged", "info", "none")
    assert (line["time_"], line["message_"]) == ("never", "m")


def test_everything_is_bounded(configure: Configure) -> None:
    stream = configure()
    many: dict[str, object] = {f"f{number}": number for number in range(1000)}
    EVENTS.info("event", text="x" * 100_000, items=["y" * 100_000] * 1000, **many)
    line = only_line(stream)
    assert len(line) == MAX_ITEMS + 3
    assert line["text"] == "x" * (MAX_TEXT - 1) + "…"
    assert len(line["items"]) == MAX_ITEMS + 1
    assert line["items"][-1] == "… 950 more"


def test_values_that_json_does_not_know_become_text(configure: Configure) -> None:
    stream = configure()
    EVENTS.info("event", nan=float("nan"), names={"b", "a"}, error=ValueError("bad"), raw=b"\xff")
    line = only_line(stream)
    assert (line["nan"], line["names"], line["error"], line["raw"]) == ("nan", ["a", "b"], "bad", "b'\\xff'")


def raise_deeply(depth: int) -> None:
    if depth == 0:
        raise ValueError("bottom")
    raise_from_elsewhere(depth - 1)


def raise_from_elsewhere(depth: int) -> None:
    raise_deeply(depth)  # two functions in turn, since Python folds equal frames


def test_a_trace_is_kept_and_bounded_at_its_end(configure: Configure) -> None:
    stream = configure()
    try:
        raise_deeply(200)
    except ValueError as error:
        EVENTS.error("event", exception=error)
    trace = only_line(stream)["trace"]
    assert len(trace) == MAX_TRACE
    assert trace.endswith("ValueError: bottom")


def test_a_trace_is_readable_on_a_terminal(configure: Configure) -> None:
    stream = configure(form=LogFormat.TEXT)
    EVENTS.error("event", exception=ValueError("bad"))
    assert stream.getvalue().splitlines()[1:] == ["ValueError: bad"]


def test_what_libraries_and_python_say_is_in_the_same_log(configure: Configure) -> None:
    stream = configure()
    logging.getLogger("some.library").warning("it is %s", "odd")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    library, python = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (library["event"], library["message"]) == ("some.library", "it is odd")
    assert python["event"] == "py.warnings"
    assert "old" in python["message"]


def test_the_level_decides_what_is_written(configure: Configure) -> None:
    stream = configure(level=logging.WARNING)
    EVENTS.info("quiet")
    EVENTS.debug("quieter")
    EVENTS.warning("loud")
    assert only_line(stream)["event"] == "loud"
    stream = configure(level=logging.DEBUG)
    EVENTS.debug("quieter")
    assert only_line(stream)["level"] == "debug"


def test_the_frame_needs_nothing_outside_the_standard_library() -> None:
    code = "import nodeworthy.processes, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-I", "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert set(done.stdout.split()) - {"nodeworthy"} <= sys.stdlib_module_names | set(bare_modules())


def bare_modules() -> list[str]:
    """What an interpreter of this environment holds before it has imported anything, .pth files of packages included."""
    code = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    command = [sys.executable, "-I", "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.split()


def test_lines_that_others_can_cause_are_written_once(configure: Configure) -> None:
    stream = configure()
    for number in range(1000):
        EVENTS.warning("bus.bad_request", about="resync.n1", error=f"no. {number}")
    assert only_line(stream)["error"] == "no. 0"


def test_a_line_after_the_silence_tells_how_many_were_not_written(configure: Configure) -> None:
    stream = configure()
    EVENTS.warning("bus.bad_request", about="resync.n1")
    (repeats,) = (one for one in logging.getLogger().handlers[0].filters if isinstance(one, Repeats))
    EVENTS.warning("bus.bad_request", about="resync.n1")
    repeats._written["bus.bad_request"]["resync.n1"].time -= SILENCE_SECONDS
    EVENTS.warning("bus.bad_request", about="resync.n1")
    assert [json.loads(line).get("repeated") for line in stream.getvalue().splitlines()] == [None, 1]
