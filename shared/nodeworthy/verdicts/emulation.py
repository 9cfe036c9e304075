"""Whether a node hands programs of another architecture to an emulator."""

from collections.abc import Iterable

from nodeworthy.rules import Facts


def emulator(facts: Facts, architectures: Iterable[str]) -> str:
    """The enabled handler of binfmt_misc for one of these architectures, by its interpreter; empty where none is known.

    A container finds the interpreter if the handler opened it beforehand (flag F, admin-guide/binfmt-misc.rst),
    else only if the image has it too. Either way the program may run, and may fail where the emulator has a limit.
    """
    content = facts.lookup("kernel.binfmt").content
    wanted = set(architectures)
    for element in (content.instances if content else None) or ():
        if element.get("enabled") == "true" and element.get("architecture") in wanted:
            return element.get("interpreter", "") or element.get("name", "")
    return ""
