"""Expressions as people write them: NFD's full form, its short forms, and the operator as a key.

NFD takes its short forms in worker rules only; here every document takes every form, each with a notice of the full one::

    AVX2: {op: Exists}          the full form
    AVX2:                       null: Exists
    vendor: "10de"              a scalar: In with one value
    vendor: ["10de", "1002"]    a list: In
    vendor: {op: In, value: 10de}     a value that is no list: a list of one
    AVX512F: {in: ["true"]}     an operator as the key; on a flag, present is true and absent is false
    [AVX2, "vendor=10de"]       instead of the map: Exists, and In with one value
"""

from nodeworthy.rules.fields import (
    is_null,
    join,
    kind_of,
    line_of,
    read_fields,
    read_text,
    report_unknown,
    tell_rewritten,
)
from nodeworthy.rules.findings import Findings
from nodeworthy.rules.operators import value_error
from nodeworthy.rules.patterns import needs_re2
from nodeworthy.rules.records import Expression, Operator
from nodeworthy.rules.scalars import Kind, write_alone
from nodeworthy.rules.trees import MappingNode, Node, ScalarNode, SequenceNode

_FIELDS = ("op", "value", "type")
_KEYS = {operator.lower(): operator for operator in Operator if operator}
_READS_FLAGS = frozenset({Operator.IN, Operator.NOT_IN, Operator.IS_TRUE, Operator.IS_FALSE})
_OPPOSITES = {
    Operator.EXISTS: Operator.DOES_NOT_EXIST,
    Operator.DOES_NOT_EXIST: Operator.EXISTS,
    Operator.IS_TRUE: Operator.IS_FALSE,
    Operator.IS_FALSE: Operator.IS_TRUE,
}
_EXISTS = Expression(Operator.EXISTS)


def read_expressions(node: Node | None, path: str, findings: Findings) -> dict[str, Expression] | None:
    """The expressions of ``matchExpressions``; ``None`` where there is nothing or null."""
    if node is None or is_null(node):
        return None
    if isinstance(node, MappingNode):
        return {
            name: read_expression(value, join(path, name), findings, line_of(name, node, node.entries))
            for name, value in node.entries.items()
        }
    if isinstance(node, SequenceNode):
        return _read_names(node, path, findings)
    findings.problem(node.line, path, f"this must be a map of expressions, and it is {kind_of(node)}")
    return None


def read_expression(node: Node, path: str, findings: Findings, line: int = 0) -> Expression:
    """One expression in any of its forms; what cannot be read is a problem, and stands as Exists."""
    line = line or node.line
    before = findings.problems_in_part
    if isinstance(node, MappingNode):
        expression = _read_map(node, path, findings)
    elif isinstance(node, SequenceNode):
        expression = Expression(Operator.IN, _read_values(node, path, findings))
        _notice(expression, line, path, findings)
    elif node.scalar.kind is Kind.NULL:
        expression = _EXISTS
        _notice(expression, line, path, findings)
    else:
        expression = Expression(Operator.IN, (_read_alone(node, path, findings),))
        _notice(expression, line, path, findings)
    if findings.problems_in_part == before:
        _check_values(expression, line, path, findings)
    return expression


def write_expression(expression: Expression) -> str:
    """The full form as it stands in a document: ``{op: In, value: ["10de"]}``."""
    import json

    parts = [f"op: {expression.operator or json.dumps('')}"]
    if expression.values:
        parts.append(f"value: {json.dumps(list(expression.values), ensure_ascii=False)}")
    if expression.type:
        parts.append(f"type: {expression.type}")
    return "{" + ", ".join(parts) + "}"


def is_version_order(expression: Expression) -> bool:
    """Whether the values would be good ones if the expression compared versions, and are no whole numbers."""
    meant = Expression(expression.operator, expression.values, "version")
    return any("." in value for value in expression.values) and value_error(meant) is None


def _check_values(expression: Expression, line: int, path: str, findings: Findings) -> None:
    """Report bad values now; evaluation will find them only where it looks at them."""
    if expression.operator is Operator.IN_REGEXP:
        expensive = sum(map(needs_re2, expression.values))
        if not all(findings.spend_pattern(line, path) for _ in range(expensive)):
            return
    if error := value_error(expression):
        findings.bad_value(line, path, str(error), error.todo or _hint_at_version(expression))


def _hint_at_version(expression: Expression) -> str:
    """For who compares versions as if they were numbers."""
    return "add type: version" if not expression.type and is_version_order(expression) else ""


def _read_map(node: MappingNode, path: str, findings: Findings) -> Expression:
    names = {key.lower() for key in node.entries}
    unknown = [key for key in node.entries if key.lower() not in _FIELDS]
    if "op" in names or not unknown:
        return _read_full(node, path, findings)
    keys = [key for key in unknown if key.lower() in _KEYS]
    if len(keys) == 1 and "value" not in names:
        for key in unknown:
            if key != keys[0]:
                report_unknown(key, node, path, _FIELDS, findings)
        return _read_operator_key(keys[0], node, path, findings)
    findings.problem(
        node.lines.get(unknown[0], node.line),
        join(path, unknown[0][:80]),
        "this expression has no op, and nobody reads this field",
        'write it as {op: In, value: ["..."]}',
    )
    return _EXISTS


def _read_full(node: MappingNode, path: str, findings: Findings) -> Expression:
    fields = read_fields(node, path, _FIELDS, findings)
    text = read_text(fields.get("op"), join(path, "op"), findings)
    kind = read_text(fields.get("type"), join(path, "type"), findings)
    values = _read_values(fields.get("value"), join(path, "value"), findings)
    try:
        operator = Operator(text)
    except ValueError:
        meant = _KEYS.get(text.lower())
        hint = f"write {meant}" if meant else f"known are {', '.join(operator for operator in Operator if operator)}"
        findings.problem(line_of("op", node, node.entries), join(path, "op"), f"{text[:80]!r} is no operator", hint)
        return _EXISTS
    if operator is Operator.ANY and not values:
        findings.notice(
            node.line, path, "an expression without op is always true", "write {op: Exists}, if that is meant"
        )
    return Expression(operator, values, kind)


def _read_operator_key(key: str, node: MappingNode, path: str, findings: Findings) -> Expression:
    operator = _KEYS[key.lower()]
    value = node.entries[key]
    kind = next((item for name, item in node.entries.items() if name.lower() == "type"), None)
    values: tuple[str, ...] = ()
    if operator in _OPPOSITES:
        truth = _read_truth(value, join(path, key), findings)
        operator = operator if truth else _OPPOSITES[operator]
    else:
        values = _read_values(value, join(path, key), findings, quiet=True)
    expression = Expression(
        operator, values, read_text(kind, join(path, "type"), findings), reads_flags=operator in _READS_FLAGS
    )
    _notice(expression, node.lines.get(key, node.line), path, findings, is_keyed=True)
    return expression


def _read_truth(node: Node, path: str, findings: Findings) -> bool:
    if is_null(node) or (isinstance(node, SequenceNode) and not node.items):
        return True
    if isinstance(node, ScalarNode) and node.scalar.text in ("true", "false"):
        return node.scalar.text == "true"
    findings.problem(node.line, path, f"this operator takes true, false or nothing, and it is {kind_of(node)}")
    return True


def _read_values(node: Node | None, path: str, findings: Findings, *, quiet: bool = False) -> tuple[str, ...]:
    if node is None or is_null(node):
        return ()
    if isinstance(node, SequenceNode):
        return tuple(_read_value(item, f"{path}[{index}]", findings) for index, item in enumerate(node.items))
    if isinstance(node, MappingNode):
        findings.problem(node.line, path, "this must be a list of texts, and it is a map")
        return ()
    if not quiet:
        findings.notice(node.line, path, "a value that is no list is read as a list of one", "put it into brackets")
    return (_read_alone(node, path, findings),)


def _read_alone(node: Node, path: str, findings: Findings) -> str:
    """The text of a scalar where a list is wanted; NFD writes its numbers in another way than those in lists."""
    if not isinstance(node, ScalarNode) or node.exact:
        return read_text(node, path, findings)
    text = write_alone(node.scalar)
    tell_rewritten(node, text, path, findings)
    return text


def _read_value(node: Node, path: str, findings: Findings) -> str:
    text = read_text(node, path, findings)
    if isinstance(node, ScalarNode):
        tell_rewritten(node, text, path, findings)
    return text


def _read_names(node: SequenceNode, path: str, findings: Findings) -> dict[str, Expression]:
    expressions: dict[str, Expression] = {}
    for index, item in enumerate(node.items):
        if isinstance(item, MappingNode):
            said = "expressions are no list of maps, as selectors of Kubernetes are"
            findings.problem(item.line, f"{path}[{index}]", said, 'write a map: vendor: {op: In, value: ["10de"]}')
            continue
        text = read_text(item, f"{path}[{index}]", findings)
        name, has_value, value = text.partition("=")
        expression = Expression(Operator.IN, (value,)) if has_value else _EXISTS
        _notice(expression, item.line, f"{path}[{index}]", findings, name)
        expressions[name] = expression
    return expressions


def _notice(
    expression: Expression, line: int, path: str, findings: Findings, name: str = "", *, is_keyed: bool = False
) -> None:
    written = write_expression(expression)
    if name:
        written = f"{name[:80]}: {written}"
    hint = f"the long form is {written}"
    if expression.reads_flags:
        present = "true" in expression.values if expression.operator is Operator.IN else None
        flag = {True: "{op: Exists}", False: "{op: DoesNotExist}"}.get(present) if present is not None else None
        hint += f"; for a flag it is {flag}" if flag and len(expression.values) == 1 else ""
    # NFD never takes an operator as the key, and its own short forms in worker rules only.
    takes = "which NFD does not take" if is_keyed else "which NFD takes in worker rules only"
    findings.notice(line, path, f"this is a short form, {takes}", hint)
