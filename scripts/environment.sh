#!/bin/sh
# Make .venv from the lock file: `environment.sh run` with what users need, `environment.sh dev` with the tests' needs too.
# Needs Python 3.11 or newer, with uv or pip; installs nothing outside .venv.
set -eu
cd "$(dirname "$0")/.."

fail() {
    printf 'error: %s\n  do: %s\n' "$1" "$2" >&2
    exit 2
}

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    for candidate in python3 python python3.14 python3.13 python3.12 python3.11; do
        if new_enough "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
}

# --inexact keeps what is already there: uv itself, and the tests' packages when only `run` is asked for.
case ${1:-} in
    run) groups="--no-default-groups" ;;
    dev) groups="" ;;
    *) fail "unknown environment ${1:-}" "ask for run or dev" ;;
esac

echo "making the environment in .venv (a minute the first time) ..." >&2

# A Python that uv fetches by itself is 30 MB outside of .venv which nobody asked for.
export UV_PYTHON_DOWNLOADS=never

# In a container the home may be read-only, or not there at all.
cache=${UV_CACHE_DIR:-${XDG_CACHE_HOME:-${HOME:-/nowhere}/.cache}/uv}
if ! { mkdir -p "$cache" && [ -w "$cache" ]; } 2>/dev/null; then
    export UV_CACHE_DIR="$PWD/.venv/.cache"
fi

if command -v uv >/dev/null 2>&1; then
    uv=uv
    "$uv" python find --no-cache ">=3.11" >/dev/null 2>&1 || fail "uv finds no Python 3.11 or newer on this machine" \
        "install one, or let uv fetch it: uv python install 3.13"
    # Before uv puts its cache there: it takes no folder with something in it for a new environment.
    [ -e .venv ] || "$uv" venv --quiet --no-cache .venv || fail "uv cannot make a virtual environment" \
        "look at uv's message above"
else
    python=$(find_python)
    [ -n "$python" ] || fail "no Python 3.11 or newer and no uv on this machine" "install one of them"
    if ! [ -x .venv/bin/uv ]; then
        "$python" -m venv --clear .venv || fail "$python cannot make a virtual environment" \
            "install its venv module (Debian: python3-venv), or uv"
        # The version that uv.lock names, so that the tool is pinned as everything else is.
        version=$(sed -n '/^name = "uv"$/{n;s/^version = "\(.*\)"$/\1/p;}' uv.lock)
        .venv/bin/python -m pip install --quiet --disable-pip-version-check "uv==$version" \
            || fail "uv $version could not be installed" "look at pip's message above; a package index must be reachable"
    fi
    uv=.venv/bin/uv
fi

# shellcheck disable=SC2086 # an empty list of groups is meant
"$uv" sync --quiet --locked --inexact --all-extras --compile-bytecode $groups
# Modules of this checkout are not in site-packages; compiled once, every later start is some 100 ms shorter.
.venv/bin/python -m compileall -q shared services cli
touch ".venv/.$1"
