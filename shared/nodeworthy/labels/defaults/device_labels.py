"""Labels that are named after devices, ``0302_10de.present``: of PCI functions and USB devices."""

from collections.abc import Iterable, Iterator

import msgspec

from nodeworthy.features import Instance


class DeviceNaming(msgspec.Struct, frozen=True):
    """What the names of one source's labels can be made of."""

    source: str
    known: tuple[str, ...]
    """Every field of a name, in the order in which names always have them (case P2)."""
    default: tuple[str, ...]
    """NFD's."""

    def select_fields(self, names: Iterable[str]) -> tuple[str, ...]:
        """The known ones in their fixed order; where none is known, the default."""
        wanted = frozenset(names)
        return tuple(field for field in self.known if field in wanted) or self.default

    def field_problems(self, names: Iterable[str]) -> tuple[str, ...]:
        """What of the setting is not used, in words."""
        wanted = frozenset(names)
        known = ", ".join(self.known)
        problems = [
            f"labels of {self.source}: {name[:60]!r} is no field of a name and is not used; there are {known}"
            for name in sorted(wanted - frozenset(self.known))
        ]
        if wanted.isdisjoint(self.known):
            default = " and ".join((", ".join(self.default[:-1]), self.default[-1]))
            problems.append(f"labels of {self.source}: no field of a name is left, so {default} are used")
        return tuple(problems)


def name_devices(
    devices: Iterable[Instance], fields: tuple[str, ...], class_prefixes: Iterable[str]
) -> Iterator[tuple[str, Instance]]:
    """The devices whose class begins with one of the prefixes, each under its name."""
    prefixes = tuple(prefix.lower() for prefix in class_prefixes)
    for device in devices:
        if device.get("class", "").startswith(prefixes):
            yield "_".join(device.get(field, "") for field in fields), device
