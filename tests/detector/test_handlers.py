import asyncio
import logging

import pytest

from nodeworthy.bus.records import RescanRequest
from nodeworthy_detector.agenda import MAX_WAITING, Agenda, Round
from nodeworthy_detector.handlers import handle_rescan
from nodeworthy_detector.metrics import Metrics
from nodeworthy_detector.settings import Pace

SOURCES = frozenset({"cpu", "pci"})


@pytest.fixture
async def agenda() -> Agenda:
    """An agenda whose first round is done."""
    made = Agenda(Pace(), asyncio.get_running_loop().time, dict.fromkeys(SOURCES, 600.0))
    made.gather()
    return made


async def test_a_rescan_looks_at_the_sources_that_it_names(agenda: Agenda) -> None:
    metrics = Metrics()
    handle_rescan(RescanRequest(id="a", sources=("pci",)), agenda=agenda, sources=SOURCES, metrics=metrics)
    assert agenda.gather() == Round(frozenset({"pci"}), ("a",))
    assert (metrics.rescans_total, metrics.rescans_refused_total) == (1, 0)


async def test_a_rescan_of_a_source_that_is_not_here_looks_at_all_and_says_so(
    agenda: Agenda, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        handle_rescan(RescanRequest(id="a", sources=("pci", "usb")), agenda=agenda, sources=SOURCES, metrics=Metrics())
    assert agenda.gather() == Round(SOURCES, ("a",))
    assert caplog.messages == ["detector.rescan_of_strange_sources"]


async def test_too_many_requests_are_refused_and_counted(agenda: Agenda, caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()
    for number in range(MAX_WAITING + 2):
        handle_rescan(RescanRequest(id=str(number)), agenda=agenda, sources=SOURCES, metrics=metrics)
    assert (metrics.rescans_total, metrics.rescans_refused_total) == (MAX_WAITING + 2, 2)
    assert caplog.messages == ["detector.rescan_refused"] * 2
