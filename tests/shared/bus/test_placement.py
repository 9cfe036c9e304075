from nodeworthy.bus.placement import LARGE_BYTES, MAX_INLINE_BYTES, SMALL_BYTES, Placement, choose_inline, placement_of


def test_what_differs_from_node_to_node_is_not_shared() -> None:
    assert placement_of("system.name") is Placement.INLINE
    assert placement_of("network.virtual") is Placement.VOLATILE
    assert placement_of("kernel.config") is Placement.SHARED
    assert placement_of("somebody.elses") is Placement.SHARED


def test_small_shared_sets_travel_inside_and_large_inline_ones_do_not() -> None:
    sizes = {
        "kernel.version": SMALL_BYTES - 1,
        "kernel.config": SMALL_BYTES,
        "system.name": LARGE_BYTES - 1,
        "network.device": LARGE_BYTES,
    }
    assert choose_inline(sizes) == {"kernel.version", "system.name"}


def test_all_inline_sets_together_are_bounded_and_the_smallest_stay() -> None:
    sizes = {f"set.{number}": SMALL_BYTES - 1 for number in range(1000)} | {"tiny": 1}
    chosen = choose_inline(sizes)
    assert sum(sizes[name] for name in chosen) <= MAX_INLINE_BYTES
    assert "tiny" in chosen
