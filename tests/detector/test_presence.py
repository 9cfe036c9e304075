import pytest

from nodeworthy_detector.presence import RETRY_MOST_SECONDS, retry_delay


@pytest.mark.parametrize(
    ("tries", "longest"), [(0, 1), (1, 2), (4, 16), (5, RETRY_MOST_SECONDS), (10_000, RETRY_MOST_SECONDS)]
)
def test_waits_double_up_to_a_bound_and_are_spread_over_their_second_half(tries: int, longest: float) -> None:
    assert retry_delay(1, tries, 0) == longest / 2
    assert retry_delay(1, tries, 1) == longest
