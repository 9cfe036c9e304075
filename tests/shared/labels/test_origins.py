from nodeworthy.labels import Claims, Giver, GiverKind

RULE = Giver(GiverKind.RULE, "gpu", "driver")


def test_an_unread_document_may_hold_the_rules_of_its_object_or_of_any() -> None:
    assert Giver(GiverKind.UNREAD, "", "gpu.yaml").may_be(RULE)
    assert Giver(GiverKind.UNREAD, "gpu", "cluster").may_be(RULE)
    assert not Giver(GiverKind.UNREAD, "net", "cluster").may_be(RULE)
    assert not Giver(GiverKind.UNREAD, "", "gpu.yaml").may_be(Giver(GiverKind.DEFAULT, "cpu.cpuid"))


def test_a_rule_is_itself_and_no_other() -> None:
    assert RULE.may_be(Giver(GiverKind.RULE, "gpu", "driver"))
    assert not RULE.may_be(Giver(GiverKind.RULE, "gpu", "model"))


def test_claims_name_labels_by_key_and_by_beginning() -> None:
    claims = Claims({"x.org/a": "1"}, ("x.org/pci-",))
    assert claims.names("x.org/a")
    assert claims.names("x.org/pci-0302.present")
    assert not claims.may_give("x.org/b")
    assert Claims(anything=True).may_give("x.org/b")
    assert not Claims(anything=True).names("x.org/b")


def test_givers_are_told_in_words() -> None:
    assert [
        str(one) for one in (RULE, Giver(GiverKind.DEFAULT, "cpu.cpuid"), Giver(GiverKind.UNREAD, "", "a.yaml"))
    ] == [
        "rule gpu/driver",
        "default labels of cpu.cpuid",
        "document a.yaml",
    ]
