import pytest

from nodeworthy.bus.requests import AcceleratorKind, Hardware
from nodeworthy.features import FeatureSet
from nodeworthy_cli.node_hardware import describe_accelerators, describe_hardware, find_level


@pytest.mark.parametrize(
    ("flags", "level"),
    [
        ("AVX X86_64_V1 X86_64_V2 X86_64_V3", "x86-64-v3"),
        ("ASIMD ARMv8.1 ARMv8.2", "ARMv8.2"),
        ("ARMv8.9 ARMv9.0 ARMv8.10", "ARMv9.0"),
        ("AVX", ""),
        ("", ""),
    ],
)
def test_the_level_is_the_highest_of_the_flags(flags: str, level: str) -> None:
    assert find_level(frozenset(flags.split())) == level


def test_what_is_not_known_is_empty() -> None:
    assert describe_hardware({}) == Hardware()
    assert describe_hardware({"accel.device": FeatureSet(instances=({},))}).accelerators == (
        AcceleratorKind("unknown"),
    )


def test_a_processor_without_a_name_is_told_by_its_numbers() -> None:
    model = FeatureSet(attributes={"vendor_id": "Intel", "family": "6", "id": "207"})
    assert describe_hardware({"cpu.model": model}).model == "Intel family 6 model 207"


def test_accelerators_that_are_alike_are_counted() -> None:
    devices = [{"model": "A100", "driver": "nvidia", "driver_version": "1.2", "address": "1"}] * 3
    others = [{"vendor": "amd", "device_id": "740f"}]
    hardware = describe_hardware({"accel.device": FeatureSet(instances=(*devices, *others))})
    assert describe_accelerators(hardware) == "3x A100 (nvidia 1.2), amd 740f (no driver)"
