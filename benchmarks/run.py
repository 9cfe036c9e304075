"""Every benchmark, or those named: `python benchmarks/run.py [SECTION]...`, for example `startup features`.

Machines differ and are shared: compare figures of one run with each other, and between runs the ratios. Each section
names the piece that it is held against. What a figure was when it was written down stands in docs/performance.md.
"""

import importlib
import sys

SECTIONS = (
    "startup",
    "features",
    "rules",
    "rules_fleet",
    "detector",
    "fleet",
    "bus",
    "traffic",
    "cluster",
    "images",
    "resolver",
    "inspection",
    "instructions",
    "false_alarms",
    "imports",
)


def main(wanted: list[str]) -> None:
    """Run the sections in order."""
    strange = sorted(set(wanted) - set(SECTIONS))
    if strange:
        sys.exit(f"error: no such section: {', '.join(strange)}; there are {', '.join(SECTIONS)}")
    for name in wanted or SECTIONS:
        print(f"== {name}")
        importlib.import_module(f"bench_{name}").run()
        print()


if __name__ == "__main__":
    main(sys.argv[1:])
