from nodeworthy.fleet import DETECTOR, KUBERNETES, Producer, ProducerKind
from nodeworthy.fleet.producers import precedence


def node_feature(namespace: str, name: str) -> Producer:
    return Producer(ProducerKind.NODE_FEATURE, name, namespace)


def test_producers_come_in_the_order_in_which_later_ones_win() -> None:
    ordered = [
        KUBERNETES,
        DETECTOR,
        Producer(ProducerKind.PROGRAM, "a"),
        Producer(ProducerKind.PROGRAM, "b"),
        node_feature("nfd", "a"),
        node_feature("nfd", "z"),
        node_feature("other", "a"),
        node_feature("third", "a"),
        node_feature("another", "b"),
    ]
    shuffled = ordered[::-2] + ordered[-2::-2]
    assert sorted(shuffled, key=lambda producer: precedence(producer, "nfd")) == ordered


def test_a_producer_reads_as_its_key() -> None:
    assert [str(one) for one in (DETECTOR, node_feature("ns", "n1"))] == ["detector", "x.ns.n1"]
