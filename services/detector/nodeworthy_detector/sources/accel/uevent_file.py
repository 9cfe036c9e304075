"""The file ``uevent`` of a device in sysfs: what the kernel would tell of it in an event."""

import re

_LINE = re.compile(r"(\w+)=(.*)", re.ASCII)
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def parse_uevent_file(text: str) -> dict[str, str]:
    r"""The assignments (``drivers/base/core.c``, dev_uevent; for PCI functions ``drivers/pci/pci-driver.c``, pci_uevent).

    >>> parse_uevent_file("DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID=10DE:2330\nPCI_SLOT_NAME=0000:41:00.0\n")["DRIVER"]
    'nvidia'
    """
    return {found[1]: found[2].strip() for found in map(_LINE.fullmatch, text.splitlines()) if found}


def slot_of(uevent: dict[str, str]) -> str | None:
    """The PCI address in it, if it is a PCI function's."""
    address = uevent.get("PCI_SLOT_NAME", "")
    return address if _ADDRESS.fullmatch(address) else None
