from nodeworthy_resolver.metrics import CacheResult, Metrics


def test_metrics_are_those_of_this_resolver_alone() -> None:
    mine, other = Metrics(), Metrics()
    other.count_cache("TagRecord", CacheResult.MISS)
    mine.count_cache("ImageRecord", CacheResult.HIT)
    text = mine.expose().decode()
    assert 'nodeworthy_resolver_cache_total{kind="image",result="hit"} 1.0' in text
    assert 'kind="tag"' not in text
