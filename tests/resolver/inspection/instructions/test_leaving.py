"""Functions that do not come back, by name; Rust's as rustc 1.63 and 1.95 write them."""

import pytest

from nodeworthy_resolver.inspection.instructions.leaving import Leaving, leaving_of


@pytest.mark.parametrize(
    ("name", "argument", "leads"),
    [
        ("exit", 1, Leaving.FAILS),
        ("exit", 0, Leaving.LEAVES),
        ("_RNvNtCsjrHSEGnQ3l9_3std7process4exit", 1, Leaving.FAILS),
        ("_RNvNtCsjrHSEGnQ3l9_3std7process4exit", 0, Leaving.LEAVES),
        ("_ZN3std7process4exit17h0123456789abcdefE", None, Leaving.LEAVES),
        ("_RNvNtCslNYArtu3iFV_5alloc7raw_vec12handle_error", None, Leaving.FAILS),
        ("_ZN5alloc5alloc18handle_alloc_error17h0123456789abcdefE", None, Leaving.FAILS),
        ("_ZN4core9panicking18panic_bounds_check17h0123456789abcdefE", None, Leaving.FAILS),
        ("_RINvNtCs6d7GoaNTBIz_4core9panicking13assert_failedjjEB4_", None, Leaving.FAILS),
        ("_ZN4core6option13expect_failed17h0123456789abcdefE", None, Leaving.FAILS),
        # It catches what panics below it.
        ("_ZN3std9panicking3try17h0123456789abcdefE", None, Leaving.RETURNS),
        ("_ZN4core3ptr49drop_in_place$LT$core..panicking..AssertKind$GT$17hE", None, Leaving.RETURNS),
    ],
)
def test_how_a_function_is_left(name: str, argument: int | None, leads: Leaving) -> None:
    assert leaving_of(name, argument) is leads
