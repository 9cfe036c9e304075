#!/usr/bin/env python3
"""Tells whether this node has AVX-512: feature avx512, label feature.node.kubernetes.io/cpu-avx512.

Standard output holds facts and nothing else, here as one JSON document; what people may want to read goes to standard error.
"""

import json
import os
import sys
from pathlib import Path

CPUINFO = Path(os.environ.get("CPUINFO", "/proc/cpuinfo"))


def discover() -> dict[str, str]:
    """The features of this node."""
    for line in CPUINFO.read_text(errors="replace").splitlines():
        name, _, flags = line.partition(":")
        if name.strip() == "flags":
            return {"avx512": "true"} if "avx512f" in flags.split() else {}
    raise ValueError(f"{CPUINFO} has no line of flags")


def main() -> int:
    """Print the facts; the exit code tells whether they count."""
    try:
        features = discover()
    except (OSError, ValueError) as error:
        print(f"discovery failed: {error}", file=sys.stderr)
        return 1
    says = [
        "[custom-detector] AVX-512 detected on this node" if features else "[custom-detector] AVX-512 NOT supported"
    ]
    says += [f"Feature: {name} = {value}" for name, value in features.items()]
    if os.environ.get("NFD_CUSTOM_TEST", "").lower() == "true":
        says.append("Custom env var test passed")
    labels = {f"cpu-{name}": value for name, value in features.items()}
    if os.environ.get("CUSTOM_TALKATIVE") == "true":
        # With sentences around them facts must be lines, since a document stands alone; each sentence is a fault.
        print(*says, *(f"{name}={value}" for name, value in {**features, **labels}.items()), sep="\n")
        return 0
    print(*says, sep="\n", file=sys.stderr)
    print(json.dumps({"attributes": features, "labels": labels}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
