#!/bin/sh
# Tells whether this node has AVX-512: feature avx512, label feature.node.kubernetes.io/cpu-avx512.
# Standard output holds facts and nothing else; what people may want to read goes to standard error.

cpuinfo=${CPUINFO:-/proc/cpuinfo}

fail() {
    echo "discovery failed: $1" >&2
    exit 1
}

say() {
    # CUSTOM_TALKATIVE=true shows what happens to sentences on standard output: each is a fault in the node's health.
    if [ "$CUSTOM_TALKATIVE" = true ]; then echo "$1"; else echo "$1" >&2; fi
}

flags=$(grep -m 1 '^flags' "$cpuinfo" 2>/dev/null)
[ -n "$flags" ] || fail "$cpuinfo has no line of flags"

case " $flags " in
*" avx512f "*)
    say "[custom-detector] AVX-512 detected on this node"
    say "Feature: avx512 = true"
    echo "# +no-label"
    echo "avx512=true"
    echo "# +no-feature"
    echo "cpu-avx512=true"
    ;;
*)
    say "[custom-detector] AVX-512 NOT supported"
    ;;
esac

case "$NFD_CUSTOM_TEST" in
[Tt][Rr][Uu][Ee]) say "Custom env var test passed" ;;
esac
exit 0
