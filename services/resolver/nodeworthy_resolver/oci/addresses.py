"""Which addresses a registry may have; pure.

Whoever may ask about images chooses the hosts that are connected to, from inside a network and perhaps from a machine of a
cloud. The address that gives such a machine its credentials must never be among them.
"""

import ipaddress
from enum import StrEnum

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Reach(StrEnum):
    """From where an address can be reached, as far as it matters here."""

    PUBLIC = "public"
    PRIVATE = "private"
    """This machine, a private network, or one behind carrier-grade NAT."""
    NEVER = "never"
    """Link-local, multicast, unspecified, or a cloud's metadata service: no registry is there."""


_METADATA = frozenset(
    map(
        ipaddress.ip_address,
        (
            "100.100.100.200",  # Alibaba Cloud, "Instance metadata"
            "168.63.129.16",  # Azure, "What is IP address 168.63.129.16": the host's agent
            "192.0.0.192",  # Oracle Cloud Infrastructure, the older instances
            "fd00:ec2::254",  # Amazon EC2, "Instance metadata", over IPv6
            "fd20:ce::254",  # Google Compute Engine, "Metadata server", over IPv6
        ),
    )
)
"""The others, 169.254.169.254 of most clouds and 169.254.170.2 of Amazon ECS, are link-local."""

_IPV4_AS_IPV6 = ipaddress.IPv6Network("64:ff9b::/96")
"""A gateway turns these into IPv4 addresses (RFC 6052)."""
_LOW_32 = 0xFFFFFFFF


def parse_address(host: str) -> Address | None:
    """The address that a URL's host is, with or without brackets and zone; ``None``: it is a name."""
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def classify(address: Address) -> Reach:
    """From where an address can be reached; an IPv4 address inside an IPv6 address is judged as itself.

    >>> classify(ipaddress.ip_address("::ffff:169.254.169.254"))
    <Reach.NEVER: 'never'>
    """
    embedded = _embedded(address)
    if embedded is not None:
        return classify(embedded)
    never = address.is_link_local or address.is_multicast or address.is_unspecified or address in _METADATA
    if never or (address.is_reserved and not address.is_loopback):
        return Reach.NEVER
    return Reach.PUBLIC if address.is_global else Reach.PRIVATE


def _embedded(address: Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that packets to an IPv6 address reach in the end, where there is one."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in _IPV4_AS_IPV6:
        return ipaddress.IPv4Address(int(address) & _LOW_32)
    tunnelled = address.teredo[1] if address.teredo else None
    return address.ipv4_mapped or address.sixtofour or tunnelled or _compatible(address)


def _compatible(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """``::10.0.0.1``, which some systems still take for the IPv4 address (RFC 4291, section 2.5.5.1)."""
    is_plain = int(address) > _LOW_32 or address.is_loopback or address.is_unspecified
    return None if is_plain else ipaddress.IPv4Address(int(address))
