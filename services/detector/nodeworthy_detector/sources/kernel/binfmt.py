"""Programs of other formats that this kernel hands to an interpreter (binfmt_misc), such as those of other processors."""

from nodeworthy.features import FeatureSet
from nodeworthy_detector.architecture import Architecture, parse_elf_machine
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import Answer, Faults, absent

_FOLDER = "proc/sys/fs/binfmt_misc"
_NO_HANDLERS = frozenset({"register", "status"})
"""The two files of the folder that are no handlers."""


def read_handlers(host: Host, faults: Faults) -> Answer:
    """One instance per handler (Linux, Documentation/admin-guide/binfmt-misc.rst)."""
    host.require("proc/sys/fs")
    names = host.list_names(_FOLDER)
    if names is None:
        return absent("this kernel has no binfmt_misc, or has not loaded it")
    status = host.read_value(f"{_FOLDER}/status")
    if status is None:
        # The kernel makes the folder, to mount on; handlers may be registered although nothing is mounted here.
        raise HostReadError(_FOLDER, "has no file system mounted on it")
    handlers = []
    for name in names:
        if name in _NO_HANDLERS:
            continue
        try:
            text = host.read_text(f"{_FOLDER}/{name}")
        except HostReadError as error:
            faults.add(error)
            continue
        if text is not None:
            handlers.append({"name": name, **parse_handler(text, is_enabled=status == "enabled")})
    return FeatureSet(instances=tuple(handlers))


def parse_handler(text: str, *, is_enabled: bool = True) -> dict[str, str]:
    """The attributes of one handler; ``is_enabled`` says whether binfmt_misc as a whole is.

    The text (Linux, fs/binfmt_misc.c, ``entry_status``)::

        enabled
        interpreter /usr/bin/qemu-aarch64-static
        flags: OCF
        offset 0
        magic 7f454c460201010000000000000000000200b700
        mask ffffffffffffff00fffffffffffffffffeffffff

    or, instead of the last three, ``extension .jar``. Where the magic is an ELF header, the processor whose programs it
    stands for is told too: ``machine`` (uname's name) and ``architecture`` (Go's).
    """
    first, _, rest = text.partition("\n")
    attributes = {"enabled": "true" if is_enabled and first.strip() == "enabled" else "false"}
    for line in rest.splitlines():
        key, _, value = line.partition(" ")
        key = key.rstrip(":")
        if key in {"interpreter", "flags", "offset", "magic", "mask", "extension"}:
            attributes[key] = value.strip()
    machine = _machine_of(attributes.get("magic", ""), attributes.get("offset", ""))
    if machine is not None:
        attributes |= {"machine": machine, "architecture": Architecture(machine).name}
    return attributes


def _machine_of(magic: str, offset: str) -> str | None:
    try:
        return parse_elf_machine(bytes.fromhex(magic)) if offset == "0" else None
    except ValueError:  # no hexadecimal numbers
        return None
