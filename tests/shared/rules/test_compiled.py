from nodeworthy.rules import Expression, Operator, Rule, Term, compile_rule

EXISTS = Expression(Operator.EXISTS)


def test_a_rule_knows_every_set_that_it_reads() -> None:
    rule = Rule(
        "r",
        match_features=(Term("CPU.cpuid", {"AVX": EXISTS}), Term("rule.matched", {"v": EXISTS})),
        match_any=((Term("pci.device"),),),
        labels={"a": "@kernel.version.full.x", "b": "@no.dots", "c": "@rule.matched.w"},
        extended_resources={"d": "@cpu.security.sev.asids"},
    )
    compiled = compile_rule(rule)
    assert compiled.sets == {"cpu.cpuid", "pci.device", "kernel.version", "cpu.security"}
    assert compiled.matched_names == frozenset({"v", "w"})


def test_a_rule_that_asks_for_names_or_has_a_template_may_read_all_of_what_was_matched() -> None:
    by_name = Rule("r", (Term("rule.matched", name=EXISTS),))
    all_of_it = Rule("r", (Term("rule.matched", {}),))
    template = Rule("r", (Term("rule.matched", {"v": EXISTS}),), labels_template="x")
    for rule in (by_name, all_of_it, template):
        assert compile_rule(rule).matched_names is None
    assert compile_rule(Rule("r", (Term("a.b"),), labels_template="x")).matched_names == frozenset()
