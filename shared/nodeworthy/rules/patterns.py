"""Regular expressions of ``InRegexp``: RE2's language, as in Go and NFD, searched for anywhere in the text.

RE2 needs time linear in the text, whatever the pattern; lookaround and back-references do not exist.
"""

import re
from collections.abc import Callable, Collection
from typing import Any

from nodeworthy.errors import RuleError
from nodeworthy.features import clean_text
from nodeworthy.rules.simple_patterns import MAX_TEXT, parse_simple, some_words_test, word_test

MAX_PATTERN_MEMORY = 256 * 1024
"""What RE2 may use for one pattern; ``a{1000}`` needs 20 kB, and one that needs more than this is refused."""

_BYTE_ESCAPE = re.compile(r"\\Q.*?(?:\\E|\Z)|\\C|\\.", re.DOTALL)
r"""Walks over escapes so that ``\C`` is found where it is one: not in ``\\C`` and not between ``\Q`` and ``\E``."""


def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """A test that says whether the pattern is found somewhere in a text.

    Raises:
        RuleError: the pattern is none in RE2's language.
    """
    simple = parse_simple(pattern)
    if simple is None:
        return _compile_re2(pattern)
    if simple.words is not None and (test := word_test(simple.words)):
        return test
    return _with_python(re.compile(simple.python, re.ASCII).search, pattern)


def compile_some(pattern: str) -> Callable[[Collection[str]], bool]:
    """A test that says whether the pattern is found in some of many names, asked at once: as :func:`compile_pattern`.

    Raises:
        RuleError: the pattern is none in RE2's language.
    """
    test = compile_pattern(pattern)
    simple = parse_simple(pattern)
    if simple is None:
        return lambda names: any(map(test, names))
    if simple.words is not None and (some := some_words_test(simple.words)):
        return some
    required = simple.required
    if not required:
        return _some_with_python(re.compile(simple.python, re.ASCII).search, test)
    # Most sets have no such name, and that is seen at once.
    return lambda names: required in "\n".join(names) and any(test(name) for name in names if required in name)


def _some_with_python(
    search: Callable[[str], object], test: Callable[[str], bool]
) -> Callable[[Collection[str]], bool]:
    def some(names: Collection[str]) -> bool:
        if "".join(names).isascii() and max(map(len, names), default=0) <= MAX_TEXT:
            return any(map(search, names))
        return any(map(test, names))

    return some


def needs_re2(pattern: str) -> bool:
    """Whether a pattern may cost what RE2 costs."""
    simple = parse_simple(pattern)
    return simple is None or simple.words is None or word_test(simple.words) is None


def _with_python(search: Callable[[str], object], pattern: str) -> Callable[[str], bool]:
    slow: list[Callable[[str], bool]] = []

    def test(text: str) -> bool:
        if len(text) <= MAX_TEXT and text.isascii():
            return search(text) is not None
        if not slow:
            slow.append(_compile_re2(pattern))
        return slow[0](text)

    return test


def compile_re2(pattern: str, *, captures: bool = False) -> Any:  # noqa: ANN401 # re2 has no types
    """RE2's own object for a pattern, which works on bytes; ``captures`` says whether anybody asks for its groups.

    Raises:
        RuleError: the pattern is none in RE2's language.
    """
    # 2 MB, and only some rules need it.
    import re2

    if any(found[0] == r"\C" for found in _BYTE_ESCAPE.finditer(pattern)):
        # RE2 in C++ takes it for one byte; Go, whose text is Unicode, does not have it.
        raise _bad_pattern(pattern, r"\C is not allowed")
    options = re2.Options()
    options.log_errors = False
    options.never_capture = not captures
    options.max_mem = MAX_PATTERN_MEMORY
    try:
        return re2.compile(pattern.encode(), options)
    except UnicodeEncodeError as error:
        raise _bad_pattern(pattern, "it is not Unicode text") from error
    except re2.error as error:
        raise _bad_pattern(pattern, _reason(error)) from error


def _compile_re2(pattern: str) -> Callable[[str], bool]:
    search = compile_re2(pattern).search

    def test(text: str) -> bool:
        return search(clean_text(text).encode()) is not None

    return test


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)


def _bad_pattern(pattern: str, reason: str) -> RuleError:
    return RuleError(
        f"{pattern[:80]!r} is not a regular expression",
        why=reason,
        todo="the language is RE2's: https://github.com/google/re2/wiki/Syntax",
    )
