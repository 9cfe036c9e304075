from nodeworthy.errors import Problem
from nodeworthy.labels import Claims, Giver, GiverKind, RuleObject, compile_chain
from nodeworthy.rules import Expression, Operator, Rule, Taint, Term, UnreadableRule

PREFIX = "feature.node.kubernetes.io/"
EXISTS = Expression(Operator.EXISTS)


def reads(set_name: str, element: str = "k") -> tuple[Term, ...]:
    return (Term(set_name, {element: EXISTS}),)


def test_objects_run_in_the_order_of_the_bytes_of_their_names_and_rules_in_their_own() -> None:
    objects = [RuleObject(name, (Rule("z"), Rule("a"))) for name in ("b", "B", "a", "é", "a0")]
    order = [(link.giver.name, link.giver.part) for link in compile_chain(objects).rules]
    assert order == [(name, part) for name in ("B", "a", "a0", "b", "é") for part in ("z", "a")]


def test_a_rule_claims_its_labels_under_full_names_and_values_it_is_sure_of() -> None:
    rule = Rule("r", labels={"a": "1", "x.org/b": "@system.osrelease.ID", f"{PREFIX}c": "", "c": "short"})
    (link,) = compile_chain([RuleObject("o", (rule,))]).rules
    assert link.claims == Claims({f"{PREFIX}a": "1", "x.org/b": None, f"{PREFIX}c": ""})
    (plain,) = compile_chain([RuleObject("o", (Rule("r", labels={"a": "1"}),))], auto_prefix=False).rules
    assert plain.claims == Claims({"a": "1"})


def test_a_template_of_labels_claims_anything_and_one_of_variables_nothing() -> None:
    rules = (Rule("l", labels_template="{{ . }}", labels={"a": "1"}), Rule("v", vars_template="{{ . }}"))
    links = compile_chain([RuleObject("o", rules)]).rules
    assert [link.claims for link in links] == [Claims({f"{PREFIX}a": "1"}, anything=True), Claims()]


def test_a_rule_hangs_on_the_sets_behind_the_names_that_it_reads_of_earlier_rules() -> None:
    rules = (
        Rule("gpu", reads("pci.device"), vars={"has-gpu": "1"}),
        Rule("net", reads("network.device"), labels={"has-net": "1"}),
        Rule("both", reads("rule.matched", "has-gpu"), vars={"ready": "1"}),
        Rule("late", (*reads("rule.matched", "ready"), *reads("kernel.version")), labels={"l": "1"}),
        Rule("all", (Term("rule.matched", name=EXISTS),)),
        Rule("value", labels={"v": "@rule.matched.has-net"}),
    )
    sets = {link.giver.part: link.sets for link in compile_chain([RuleObject("o", rules)]).rules}
    assert sets == {
        "gpu": ("pci.device",),
        "net": ("network.device",),
        "both": ("pci.device",),
        "late": ("kernel.version", "pci.device"),
        "all": ("kernel.version", "network.device", "pci.device"),
        "value": ("network.device",),
    }


def test_names_that_a_template_may_give_hang_on_its_sets_too() -> None:
    rules = (Rule("t", reads("pci.device"), vars_template="{{ . }}"), Rule("r", reads("rule.matched", "x")))
    assert compile_chain([RuleObject("o", rules)]).rules[1].sets == ("pci.device",)


def test_what_cannot_be_read_stands_in_its_place_and_claims_anything() -> None:
    bad = UnreadableRule("bad", (Problem("f", 1, "spec", "wrong"),))
    objects = [
        RuleObject("b", (Rule("r"), bad)),
        RuleObject("c", unreadable="it is no map", source="object c"),
        RuleObject("", unreadable="it is not YAML", source="broken.yaml"),
    ]
    links = compile_chain(objects).rules
    assert [(link.giver, link.claims.anything) for link in links] == [
        (Giver(GiverKind.UNREAD, "", "broken.yaml"), True),
        (Giver(GiverKind.RULE, "b", "r"), False),
        (Giver(GiverKind.RULE, "b", "bad"), True),
        (Giver(GiverKind.UNREAD, "c", "object c"), True),
    ]


def test_a_name_of_any_length_is_cut_before_it_is_remembered() -> None:
    (link,) = compile_chain([RuleObject("o" * 9999, (Rule("r" * 9999),))]).rules
    assert (len(link.giver.name), len(link.giver.part)) == (253, 253)


def test_an_object_without_the_prefix_claims_its_names_as_they_are_written() -> None:
    taints = (Taint("x.org/t", "NoSchedule"),)
    rule = Rule("r", labels={"a": "1"}, annotations={"b": "1"}, extended_resources={"c": "1"}, taints=taints)
    with_prefix, without = compile_chain([RuleObject("a", (rule,)), RuleObject("b", (rule,), auto_prefix=False)]).rules
    assert without.claims == Claims(
        {"a": "1"},
        annotations=frozenset({"b"}),
        extended_resources=frozenset({"c"}),
        taints=frozenset({"x.org/t"}),
    )
    assert with_prefix.claims.annotations == frozenset({f"{PREFIX}b"})
    assert (dict(with_prefix.full_names({"a": "1"})), without.full_names({"a": "1"})) == (
        {f"{PREFIX}a": "1"},
        {"a": "1"},
    )


def test_a_rule_keeps_its_place_in_nfds_order_when_its_object_runs_later() -> None:
    objects = [
        RuleObject("b", (Rule("p", vars={"v": "1"}), Rule("q"))),
        RuleObject("a", (Rule("c", reads("rule.matched", "v")),)),
        RuleObject("", unreadable="it is not YAML", source="broken.yaml"),
    ]
    links = compile_chain(objects).rules
    assert [(link.giver.name, link.giver.part, link.place) for link in links] == [
        ("", "broken.yaml", 0),
        ("b", "p", 2),
        ("b", "q", 3),
        ("a", "c", 1),
    ]
