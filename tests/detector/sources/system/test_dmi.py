from collections.abc import Callable, Mapping

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import SystemSource

Plant = Callable[[Mapping[str, str | bytes]], Host]

DMI = "sys/devices/virtual/dmi/id"


def test_firmware_tables_keep_what_can_be_read(plant: Plant) -> None:
    host = plant(
        {
            "sys/devices/virtual/mem/null/dev": "1:3",
            f"{DMI}/sys_vendor": "Dell Inc. \n",
            f"{DMI}/board_version": "\n",
            f"{DMI}/product_name/": "",
            f"{DMI}/product_serial": "SECRET",
        }
    )
    reading = SystemSource().read(host)
    assert reading.sets["system.dmiid"] == FeatureSet(
        attributes={"board_version": "", "sys_vendor": "Dell Inc."}, unobserved=frozenset({"product_name"})
    )
    assert f"{DMI}/product_name is no regular file" in reading.faults


def test_tables_are_read_where_the_rest_of_the_machine_is_left_out(plant: Plant) -> None:
    for folder in ("sys/class/dmi/id", DMI):
        found = SystemSource().read(plant({f"{folder}/sys_vendor": "HPE\n"})).sets["system.dmiid"]
        assert isinstance(found, FeatureSet)
        assert found.attributes == {"sys_vendor": "HPE"}
        assert "product_name" in found.unobserved


def test_a_machine_without_firmware_tables_says_so(plant: Plant) -> None:
    found = SystemSource().read(plant({"sys/devices/virtual/mem/null/dev": "1:3"})).sets["system.dmiid"]
    assert isinstance(found, SetStatus)
    assert found.state is SetState.ABSENT
