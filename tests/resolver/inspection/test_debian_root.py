"""No false alarms: what a distribution builds for every x86-64 CPU runs on the plainest one.

All programs of some 260 packages are held against that node by ``python benchmarks/run.py false_alarms``.
"""

from functools import cache

import pytest
from tests.resolver.inspection.debian_roots import answer_of, inspect_program, listed, node_of_level, root_of

from nodeworthy.requirements import Inspection
from nodeworthy.verdicts import Answer

PACKAGES = listed(
    """
    pool/main/g/glibc/libc6_2.36-9+deb12u14_amd64.deb
    ba4f88f73dbc3ae9055f3c20f4523bfdbaf1ad13ff95e258924f77d20b4fbedf
    pool/main/g/glibc/libc-bin_2.36-9+deb12u14_amd64.deb
    e667401af91fad95f15b3ebd25d1abd8373fd18b00dc32219678413170544e84
    pool/main/c/coreutils/coreutils_9.1-1_amd64.deb
    61038f857e346e8500adf53a2a0a20859f4d3a3b51570cc876b153a2d51a3091
    pool/main/libs/libselinux/libselinux1_3.4-1+b6_amd64.deb
    2b07f5287b9105f40158b56e4d70cc1652dac56a408f3507b4ab3d061eed425f
    pool/main/p/pcre2/libpcre2-8-0_10.42-1_amd64.deb
    030db54f4d76cdfe2bf0e8eb5f9efea0233ab3c7aa942d672c7b63b52dbaf935
    pool/main/a/acl/libacl1_2.3.1-3_amd64.deb
    8be9df5795114bfe90e2be3d208ef47a5edd3fc7b3e20d387a597486d444e5e2
    pool/main/a/attr/libattr1_2.5.1-4_amd64.deb
    c4945123d66d0503ba42e2fc0585abc76d0838978c6d277b9cc37a4da25d1a34
    pool/main/g/gmp/libgmp10_6.2.1+dfsg1-1.1_amd64.deb
    187aedef2ed763f425c1e523753b9719677633c7eede660401739e9c893482bd
    pool/main/d/dash/dash_0.5.12-2_amd64.deb
    33ea40061da2f1a861ec46212b2b6a34f0776a049b1a3f0abce2fb8cb994258f
    pool/main/b/bash/bash_5.2.15-2+b13_amd64.deb
    82130bb6a560cd2a7234d8018baf73f188f5dd56413d5aa0accc987b2197a6a1
    pool/main/n/ncurses/libtinfo6_6.4-4_amd64.deb
    072d908f38f51090ca28ca5afa3b46b2957dc61fe35094c0b851426859a49a51
    pool/main/z/zlib/zlib1g_1.2.13.dfsg-1_amd64.deb
    d7dd1d1411fedf27f5e27650a6eff20ef294077b568f4c8c5e51466dc7c08ce4
    pool/main/g/grep/grep_3.8-5_amd64.deb
    3264acea728df3c48a54f20e9291b965130e306b9d00adac76647049da7196df
    pool/main/g/gzip/gzip_1.12-1_amd64.deb
    eabec1dde2834f72540d7b93fc5df2625f52611c06d93d61f5cdb12480e0e6a3
    pool/main/f/findutils/findutils_4.9.0-4_amd64.deb
    5dd86bd0af4aa73f067dfd6b8339dd868f2dd84056aa79db29d1206d4fbc5e04
    pool/main/libz/libzstd/libzstd1_1.5.4+dfsg2-5_amd64.deb
    6315b5ac38b724a710fb96bf1042019398cb656718b1522279a5185ed39318fa
    pool/main/libx/libxcrypt/libcrypt1_4.4.33-2_amd64.deb
    f5f60a5cdfd4e4eaa9438ade5078a57741a7a78d659fcb0c701204f523e8bd29
    pool/main/m/mawk/mawk_1.3.4.20200120-3.1_amd64.deb
    bcbc83f391854ea9d50ce2a4101aacf330de3b8b71d81a798faadba14a157f78
    pool/main/x/xxhash/xxhash_0.8.1-1_amd64.deb
    cf75b99ddde34a95ac4eb61974c4501ca6c4fa63d981c2a4f1cd4e9756f236d1
    pool/main/x/xxhash/libxxhash0_0.8.1-1_amd64.deb
    6c19a5d18c8350744581fbd25d5d29e2b7101053e25aafa4e1ffcc2b505b2f1c
    pool/main/h/hostname/hostname_3.23+nmu1_amd64.deb
    17d9a2f3c05004499d80e180d2440fd716f84c32b65f09d96c9a024af4d1d0e7
    """
)
PROGRAMS = (
    "/usr/bin/cat",
    "/usr/bin/cksum",
    "/usr/bin/factor",
    "/usr/bin/find",
    "/usr/bin/grep",
    "/usr/bin/gzip",
    "/usr/bin/hostname",
    "/usr/bin/ls",
    "/usr/bin/mawk",
    "/usr/bin/sort",
    "/usr/bin/wc",
    "/usr/bin/xxhsum",
    "/usr/sbin/ldconfig",
)


@cache
def root() -> dict[str, bytes | str]:
    return root_of(PACKAGES)


def inspect(program: str) -> Inspection:
    """Beside it only the libraries: the code of all other programs takes some seconds."""
    others = [path for path in root() if path.startswith(("/usr/bin/", "/usr/sbin/"))]
    return inspect_program(root(), program, others)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_for_every_cpu_runs_on_the_plainest(program: str) -> None:
    found = inspect(program)

    assert found.start == (program,)
    assert answer_of(found, node_of_level(1)) == (Answer.COMPATIBLE, "")


@pytest.mark.parametrize(
    ("program", "feature"), [("/usr/bin/wc", "AVX2"), ("/usr/bin/cksum", "CLMUL"), ("/usr/sbin/ldconfig", "AVX512F")]
)
def test_what_a_program_uses_where_the_cpu_has_it_is_told(program: str, feature: str) -> None:
    told = [one.text for one in inspect(program).information if one.text.startswith(f"{program} uses")]

    assert len(told) == 1
    assert feature in told[0]


def test_all_programs_of_a_root_together_raise_no_alarm() -> None:
    answer, why = answer_of(inspect_program(root(), "/usr/bin/cat"), node_of_level(1))

    assert (answer, why) == (Answer.COMPATIBLE, "")


def test_a_shell_that_waits_for_commands_is_not_known_to_run() -> None:
    answer, why = answer_of(inspect("/usr/bin/dash"), node_of_level(1))

    assert answer is Answer.UNKNOWN
    assert "reads commands" in why
