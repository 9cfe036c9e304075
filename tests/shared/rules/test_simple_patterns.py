import pytest
import re2
from hypothesis import assume, given
from hypothesis import strategies as st

from nodeworthy.rules.patterns import compile_pattern, compile_some
from nodeworthy.rules.simple_patterns import MAX_TEXT, parse_simple, word_test

LETTERS = "aBz09_.-/^$ \n\t\u212aé"
# One of them after each space.
PIECES = r"a B z 0 _ - / . \. \d \w \s [a-z] [^a] [0-9_] [\d.] [a ^ $ ( (?: ) | * + ? \- \\ {2} ] } []a] [z-a] \b k"
patterns = st.builds(
    str.__add__,
    st.sampled_from(["", "(?i)"]),
    st.lists(st.sampled_from([*PIECES.split(" "), " "]), max_size=8).map("".join),
)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("AVX", ("AVX",)),
        ("^AVX512", ("\x02AVX512",)),
        ("VNNI$", ("VNNI\x03",)),
        ("^(IBPB|IBRS)$", ("\x02IBPB\x03", "\x02IBRS\x03")),
        ("^a\\.b", ("\x02a.b",)),
        ("", ("",)),
        ("a[0-9]", None),
        ("(?i)tdx", None),
    ],
)
def test_a_pattern_of_words_gives_its_words(pattern: str, words: tuple[str, ...] | None) -> None:
    simple = parse_simple(pattern)
    assert simple is not None
    assert simple.words == words


LEFT_TO_RE2 = r"a** a*b* (a)* a{2} \pL (?P<n>a) [[:alpha:]] \bx [z-a] ( a) é ^* [] \ (?x)a"


@pytest.mark.parametrize("pattern", [*LEFT_TO_RE2.split(" "), "a\x02", "(" * 20 + ")" * 20])
def test_what_is_not_understood_completely_is_left_to_re2(pattern: str) -> None:
    assert parse_simple(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "yes", "no"), [(r"([\]])", "a]", "a["), (r"[\[x]", "[", "]"), (r"[\d\]]", "]", "x")]
)
def test_a_bracket_inside_a_class_stands_for_itself(pattern: str, yes: str, no: str) -> None:
    assert parse_simple(pattern) is not None
    assert compile_pattern(pattern)(yes)
    assert not compile_pattern(pattern)(no)


def test_many_words_are_no_words_and_still_simple() -> None:
    simple = parse_simple("(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)")
    assert simple is not None
    assert simple.words is None


@pytest.mark.parametrize("words", [("\x02a", "b"), ("a\x02b",), ("a", "b"), ("a\x03", "b")])
def test_words_with_different_anchors_have_no_test_made_of_string_methods(words: tuple[str, ...]) -> None:
    assert word_test(words) is None


@given(patterns, st.text(alphabet=LETTERS, max_size=12) | st.just("a" * (MAX_TEXT + 1)))
def test_a_simple_pattern_answers_as_re2_does(pattern: str, text: str) -> None:
    assume(parse_simple(pattern) is not None)
    options = re2.Options()
    options.log_errors = False
    assert compile_pattern(pattern)(text) == (re2.compile(pattern, options).search(text) is not None)


@pytest.mark.parametrize(
    ("pattern", "required"),
    [
        ("^NVME_.*_CACHE$", "_CACHE"),
        ("_OFFLOAD_[0-9]+$", "_OFFLOAD_"),
        ("a(?:bc)d[0-9]", "abcd"),
        ("ab?c[0-9]", "a"),
        ("(a|b)cd[0-9]", "cd"),
        ("ab[0-9]|c", ""),
        ("(?i)abc[0-9]", ""),
    ],
)
def test_letters_that_every_match_has_are_seen(pattern: str, required: str) -> None:
    simple = parse_simple(pattern)
    assert simple is not None
    assert simple.required == required


@given(patterns, st.text(alphabet=LETTERS, max_size=12))
def test_where_a_simple_pattern_is_found_its_required_letters_stand(pattern: str, text: str) -> None:
    simple = parse_simple(pattern)
    assert simple is None or simple.required in text or not compile_pattern(pattern)(text)


names = st.lists(st.text(alphabet=LETTERS, max_size=6) | st.just("a" * (MAX_TEXT + 1)), max_size=4)


@given(patterns, names)
def test_many_names_asked_at_once_answer_as_one_after_the_other(pattern: str, names: list[str]) -> None:
    assume(parse_simple(pattern) is not None)
    assert compile_some(pattern)(names) == any(map(compile_pattern(pattern), names))


@pytest.mark.parametrize("pattern", ["", "^", "$", "^$", "^a$", "b", "^a", "b$", "a.b", "[ab]", "a\\pL"])
@pytest.mark.parametrize("names", [[], [""], ["a"], ["xb", "ay"], ["a\nb"], ["x\na", "y"]])
def test_ends_of_names_are_not_taken_for_ends_of_lines_in_them(pattern: str, names: list[str]) -> None:
    assert compile_some(pattern)(names) == any(map(compile_pattern(pattern), names))
