import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_resolver.oci.addresses import Reach, classify, parse_address


@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("8.8.8.8", Reach.PUBLIC),
        ("2606:4700::1111", Reach.PUBLIC),
        ("10.0.0.1", Reach.PRIVATE),
        ("172.31.255.255", Reach.PRIVATE),
        ("192.168.1.1", Reach.PRIVATE),
        ("100.64.0.1", Reach.PRIVATE),
        ("127.0.0.1", Reach.PRIVATE),
        ("::1", Reach.PRIVATE),
        ("fd12::1", Reach.PRIVATE),
        ("169.254.169.254", Reach.NEVER),
        ("169.254.170.2", Reach.NEVER),
        ("100.100.100.200", Reach.NEVER),
        ("168.63.129.16", Reach.NEVER),
        ("fd00:ec2::254", Reach.NEVER),
        ("fd20:ce::254", Reach.NEVER),
        ("fe80::1", Reach.NEVER),
        ("fe80::1%eth0", Reach.NEVER),
        ("0.0.0.0", Reach.NEVER),
        ("::", Reach.NEVER),
        ("224.0.0.1", Reach.NEVER),
        ("ff02::1", Reach.NEVER),
        ("255.255.255.255", Reach.NEVER),
    ],
)
def test_an_address_is_judged_by_where_it_is_reached_from(text: str, reach: Reach) -> None:
    address = parse_address(text)
    assert address is not None
    assert classify(address) is reach


def wrap(address: ipaddress.IPv4Address) -> dict[str, ipaddress.IPv6Address]:
    number = int(address)
    return {
        "mapped (RFC 4291)": ipaddress.IPv6Address((0xFFFF << 32) | number),
        "6to4 (RFC 3056)": ipaddress.IPv6Address((0x2002 << 112) | (number << 80)),
        "NAT64 (RFC 6052)": ipaddress.IPv6Address((0x64FF9B << 96) | number),
        "Teredo (RFC 4380)": ipaddress.IPv6Address((0x20010000 << 96) | (number ^ 0xFFFFFFFF)),
    }


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_inside_an_ipv6_address_is_judged_as_itself(address: ipaddress.IPv4Address) -> None:
    assert {name: classify(wrapped) for name, wrapped in wrap(address).items()} == dict.fromkeys(
        wrap(address), classify(address)
    )


@given(st.ip_addresses())
def test_every_address_has_a_judgement_and_only_global_ones_are_public(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    assert classify(address) in Reach
    if classify(address) is Reach.PUBLIC and isinstance(address, ipaddress.IPv4Address):
        assert address.is_global


@pytest.mark.parametrize("text", ["example.com", "", "2130706433", "127.1", "0x7f000001"])
def test_a_name_is_no_address(text: str) -> None:
    assert parse_address(text) is None
