"""Go's text/template with the text functions of sprig 3.3: what ``labelsTemplate`` and ``varsTemplate`` are written in.

Belongs here: reading a template (lexer, parser), running it (evaluator), the values, their formats and the functions.
Does not belong here: what a template sees and what becomes of its output; that is :mod:`nodeworthy.rules.templates`.
Nothing here reads the clock, the environment, the network or randomness, and everything is bounded (``limits``).
"""

from nodeworthy.rules.templating.evaluator import Program, compile_template
from nodeworthy.rules.templating.limits import MAX_TEMPLATE

__all__ = ["MAX_TEMPLATE", "Program", "compile_template"]
