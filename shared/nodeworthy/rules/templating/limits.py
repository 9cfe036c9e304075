"""What one template may cost. A rule may be a stranger's document, and it is expanded for every node.

NFD bounds the text alone (64 KiB, as here); the other limits are ours, far above what labels need.
"""

from nodeworthy.rules.templating.problems import FunctionError

MAX_TEMPLATE = 64 * 1024
"""Bytes of a template's text; NFD's limit (api/nfd, NodeFeatureRule)."""

MAX_NESTING = 100
"""Levels of control structures, parentheses and templates that include each other."""

MAX_STEPS = 200_000
"""Units of work of one expansion: nodes that run, calls, and what they handle. About a second at most."""

MAX_OUTPUT = 1024 * 1024
"""Characters of the output, and of any text that a function makes."""

MAX_ITEMS = 100_000
"""Entries of any list that a function makes."""

MAX_DEPTH = 100
"""How deep lists and maps may lie in each other where something walks through them."""

TEXT_PER_STEP = 16
"""Characters that count as one step."""


class Budget:
    """What is left of the steps of one expansion."""

    __slots__ = ("left",)

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        """Take steps.

        Raises:
            FunctionError: there are none left.
        """
        self.left -= steps
        if self.left < 0:
            raise FunctionError(f"the template takes too long: more than {MAX_STEPS:,} steps")

    def spend_text(self, length: int) -> None:
        """Take the steps of handling a text of this length.

        Raises:
            FunctionError: the text is too long, or no steps are left.
        """
        if length > MAX_OUTPUT:
            raise FunctionError(f"a text gets too long: more than {MAX_OUTPUT:,} characters")
        self.spend(length // TEXT_PER_STEP)

    def spend_items(self, count: int) -> None:
        """Take the steps of handling a list of this length.

        Raises:
            FunctionError: the list is too long, or no steps are left.
        """
        if count > MAX_ITEMS:
            raise FunctionError(f"a list gets too long: more than {MAX_ITEMS:,} entries")
        self.spend(count)

    def spend_node(self, depth: int) -> None:
        """Take the step of one node of nested lists and maps.

        Raises:
            FunctionError: they are nested too deep, perhaps in themselves, or no steps are left.
        """
        if depth > MAX_DEPTH:
            raise FunctionError(f"lists and maps are nested deeper than {MAX_DEPTH} levels")
        self.spend(1)
