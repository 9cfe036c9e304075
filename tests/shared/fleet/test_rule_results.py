from nodeworthy.fleet.rule_results import ResultMemo
from nodeworthy.rules import Outcome, RuleResult

RESULT = RuleResult("r", Outcome.TRUE)


def test_a_result_is_found_under_its_key_and_under_no_other() -> None:
    memo = ResultMemo(max_bytes=10_000)
    memo.keep(b"one", RESULT)
    assert memo.find(b"one") is RESULT
    assert memo.find(b"two") is None


def test_what_was_not_wanted_for_longest_is_forgotten_first() -> None:
    memo = ResultMemo(max_bytes=2 * (1_500 + len(repr(RESULT))))
    memo.keep(b"one", RESULT)
    memo.keep(b"two", RESULT)
    memo.find(b"one")
    memo.keep(b"three", RESULT)
    assert [memo.find(key) for key in (b"one", b"two", b"three")] == [RESULT, None, RESULT]


def test_a_result_that_is_larger_than_the_memo_is_not_kept() -> None:
    memo = ResultMemo(max_bytes=2_000)
    memo.keep(b"large", RuleResult("r", Outcome.TRUE, labels={"l": "x" * 2_000}))
    assert memo.find(b"large") is None
    memo.keep(b"small", RESULT)
    assert memo.find(b"small") is RESULT
