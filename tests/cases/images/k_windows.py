"""Category K: builds of Windows."""

from collections.abc import Callable

from tests.cases.images import nodes
from tests.cases.images.records import Case, Child, Image, Trial, Truth

from nodeworthy.verdicts import Answer

NO, UNKNOWN = Answer.INCOMPATIBLE, Answer.UNKNOWN
SERVER_1709, SERVER_1803, SERVER_2019, SERVER_2022, SERVER_2025 = (
    "10.0.16299.1087",
    "10.0.17134.1304",
    "10.0.17763.5458",
    "10.0.20348.2340",
    "10.0.26100.2033",
)


def _image(*builds: str) -> Callable[[], Image]:
    """One image, or an index of several builds."""
    children = tuple(
        Child({"/Files/pause.exe": b"MZ"}, ("pause.exe",), "windows/amd64", os_version=build) for build in builds
    )
    return lambda: Image(children, is_index=len(children) > 1)


CASES = (
    Case(
        "K01",
        "the sandbox's image is of another build than the host; the application's fits",
        (
            Trial("pause of 1809 on 1803", _image(SERVER_2019), nodes.windows(SERVER_1803), NO, "platform-mismatch"),
            Trial(
                "pause of 1803 on 1803", _image(SERVER_1803), nodes.windows("10.0.17134.1"), UNKNOWN, truth=Truth.RUNS
            ),
            Trial(
                "an index of both",
                _image(SERVER_2019, SERVER_1803),
                nodes.windows(SERVER_1803),
                UNKNOWN,
                truth=Truth.RUNS,
            ),
            Trial(
                "an index of neither",
                _image(SERVER_1709, SERVER_2019),
                nodes.windows(SERVER_1803),
                NO,
                "platform-mismatch",
            ),
        ),
    ),
    Case(
        "K02",
        "an older sandbox's image on a newer host",
        (
            Trial("1709 on 1803", _image(SERVER_1709), nodes.windows(SERVER_1803), NO, "platform-mismatch"),
            Trial("1709 on 1709", _image(SERVER_1709), nodes.windows(SERVER_1709), UNKNOWN, truth=Truth.RUNS),
            Trial("2022 on 2025", _image(SERVER_2022), nodes.windows(SERVER_2025), UNKNOWN, truth=Truth.RUNS),
            Trial("2019 on 2022", _image(SERVER_2019), nodes.windows(SERVER_2022), NO, "platform-mismatch"),
        ),
    ),
    Case(
        "K03",
        "an image of a later build than the host",
        (
            Trial("2019 on 1803", _image(SERVER_2019), nodes.windows(SERVER_1803), NO, "platform-mismatch"),
            Trial(
                "2019 on 2019 of another update",
                _image(SERVER_2019),
                nodes.windows("10.0.17763.1"),
                UNKNOWN,
                truth=Truth.RUNS,
            ),
            Trial("2025 on 2022", _image(SERVER_2025), nodes.windows(SERVER_2022), NO, "platform-mismatch"),
            Trial("no build is told", _image(""), nodes.windows(SERVER_2022), UNKNOWN, truth=Truth.OPEN),
        ),
    ),
)
