import msgspec
import pytest

from nodeworthy_detector.programs.settings import FOLDER, OneRun, ProgramSettings


def test_what_is_left_out_is_as_for_all() -> None:
    settings = msgspec.convert(
        {"interval": 30, "programs": {"a.sh": {"timeout": 2, "environment": {"X": "1"}}}}, ProgramSettings
    )
    assert settings.folder == FOLDER
    assert settings.of("a.sh") == OneRun(30, 2, {"X": "1"})
    assert settings.of("b.sh") == OneRun(30, 10, {})
    assert settings.is_enabled("b.sh")


@pytest.mark.parametrize(
    "value",
    [
        {"interval": 0},
        {"concurrency": 0},
        {"every": 3},
        {"programs": {"a": {"env": {}}}},
        {"programs": {"a": {"timeout": -1}}},
    ],
)
def test_a_value_that_cannot_be_used_is_refused(value: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(value, ProgramSettings)
