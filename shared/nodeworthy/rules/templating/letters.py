"""Which letters are spaces."""

SPACES = "".join(
    ("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000", *(chr(code) for code in range(0x2000, 0x200B)))
)
"""Unicode's White_Space, which Go's ``unicode.IsSpace`` is; Python's own includes four more."""
