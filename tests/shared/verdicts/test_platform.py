import pytest

from nodeworthy import platforms
from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.images import ArtifactKind, ImageKnowledge, PlatformImage
from nodeworthy.verdicts import Effect, Layer, NodeFacts, State
from nodeworthy.verdicts.platform import PlatformChoice, choose_image


def node(
    architecture: str | None = "amd64", *, flags: set[str] | None = None, config: dict[str, str] | None = None
) -> NodeFacts:
    contents = {}
    if architecture:
        contents["system.architecture"] = FeatureSet(attributes={"architecture": architecture})
    if flags is not None:
        contents["cpu.cpuid"] = FeatureSet(flags=frozenset(flags))
    if config is not None:
        contents["kernel.config"] = FeatureSet(attributes=config)
    return NodeFacts.of(Snapshot(contents), "n1")


def arm_node(machine: str | None) -> NodeFacts:
    attributes = {"architecture": "arm"} | ({"machine": machine} if machine else {})
    return NodeFacts.of(Snapshot({"system.architecture": FeatureSet(attributes=attributes)}), "n1")


def index(*claims: str) -> ImageKnowledge:
    images = tuple(PlatformImage(f"sha256:{number}", claimed=platforms.parse(p)) for number, p in enumerate(claims))
    return ImageKnowledge("r/i:t", "sha256:i", "index", images)


def single(configured: str | None) -> ImageKnowledge:
    image = PlatformImage("sha256:m", configured=platforms.parse(configured) if configured else None)
    return ImageKnowledge("r/i:t", "sha256:m", "manifest", (image,))


def chosen(choice: PlatformChoice) -> str:
    return str(choice.image.platform) if choice.image else "none"


def test_a_node_takes_its_own_child() -> None:
    choice = choose_image(index("linux/arm64", "linux/amd64"), node())
    assert (chosen(choice), choice.finding.state) == ("linux/amd64", State.MET)


def test_an_index_without_the_architecture_is_a_mismatch_that_does_not_start() -> None:
    choice = choose_image(index("linux/arm64", "linux/s390x"), node())
    assert choice.image is None
    finding = choice.finding
    assert (finding.code, finding.state, finding.layer, finding.effect) == (
        "platform-mismatch",
        State.UNMET,
        Layer.ARCHITECTURE,
        Effect.DOES_NOT_START,
    )
    assert finding.expected == "linux/arm64, linux/s390x"
    assert finding.observed == "linux/amd64"


def test_a_single_image_is_held_against_the_node() -> None:
    assert choose_image(single("linux/amd64"), node()).finding.state is State.MET
    assert choose_image(single("linux/arm64"), node()).finding.state is State.UNMET
    assert choose_image(single("windows/amd64"), node()).finding.state is State.UNMET


def test_an_image_that_names_no_platform_is_unknown() -> None:
    choice = choose_image(single(None), node())
    assert (choice.finding.code, choice.finding.state) == ("image-platform-unknown", State.UNKNOWN)
    assert choice.finding.settle


def test_facts_without_an_architecture_leave_it_unknown() -> None:
    choice = choose_image(index("linux/arm64", "linux/amd64"), node(None))
    assert (choice.finding.code, choice.finding.state) == ("node-platform-unknown", State.UNKNOWN)


def test_nfds_own_export_tells_x86_by_its_level_flags() -> None:
    assert chosen(choose_image(index("linux/arm64", "linux/amd64"), node(None, flags={"X86_64_V1"}))) == "linux/amd64"


def test_a_level_that_the_cpu_lacks_is_a_mismatch_that_crashes() -> None:
    choice = choose_image(single("linux/amd64/v3"), node(flags={"X86_64_V1", "X86_64_V2"}))
    assert (choice.finding.state, choice.finding.layer, choice.finding.effect) == (
        State.UNMET,
        Layer.INSTRUCTION_SET,
        Effect.CRASHES,
    )
    assert choice.finding.observed == "linux/amd64/v2"


def test_a_level_is_unknown_where_the_cpu_was_not_looked_at() -> None:
    choice = choose_image(single("linux/amd64/v3"), node())
    assert (choice.finding.code, choice.finding.state) == ("platform-variant-unknown", State.UNKNOWN)


def test_the_plain_child_is_taken_where_the_cpu_was_not_looked_at() -> None:
    choice = choose_image(index("linux/amd64/v3", "linux/amd64"), node())
    assert (chosen(choice), choice.finding.state) == ("linux/amd64", State.MET)


def test_the_highest_child_that_the_cpu_can_do_is_taken() -> None:
    flags = {"X86_64_V1", "X86_64_V2", "X86_64_V3"}
    choice = choose_image(index("linux/amd64", "linux/amd64/v3", "linux/amd64/v4"), node(flags=flags))
    assert chosen(choice) == "linux/amd64/v3"


@pytest.mark.parametrize(
    ("config", "state"),
    [({"IA32_EMULATION": "y"}, State.MET), ({"SMP": "y"}, State.UNMET), (None, State.UNKNOWN)],
)
def test_a_32_bit_image_depends_on_the_kernel(config: dict[str, str] | None, state: State) -> None:
    assert choose_image(single("linux/386"), node(config=config)).finding.state is state


def test_a_kernel_option_that_was_not_observed_decides_nothing() -> None:
    config = FeatureSet(attributes={}, unobserved=frozenset({"IA32_EMULATION"}))
    amd64 = FeatureSet(attributes={"architecture": "amd64"})
    facts = NodeFacts.of(Snapshot({"system.architecture": amd64, "kernel.config": config}), "n1")
    assert choose_image(single("linux/386"), facts).finding.state is State.UNKNOWN


def test_arm_32_bit_stays_unknown_even_with_compat_since_the_cpu_may_not_do_it() -> None:
    found = choose_image(single("linux/arm/v7"), node("arm64", config={"COMPAT": "y"})).finding
    assert found.state is State.UNKNOWN
    assert choose_image(single("linux/arm/v7"), node("arm64", config={"SMP": "y"})).finding.state is State.UNMET


@pytest.mark.parametrize(
    ("architecture", "ability", "image"), [("amd64", "ia32", "linux/386"), ("arm64", "aarch32", "linux/arm/v7")]
)
@pytest.mark.parametrize(("said", "state"), [("true", State.MET), ("false", State.UNMET), ("", State.UNKNOWN)])
def test_what_the_detector_says_of_32_bit_programs_decides_before_the_kernels_configuration(
    architecture: str, ability: str, image: str, said: str, state: State
) -> None:
    execution = FeatureSet(
        attributes={ability: said} if said else {}, unobserved=frozenset() if said else frozenset({ability})
    )
    named = FeatureSet(attributes={"architecture": architecture})
    contents = {"system.architecture": named, "cpu.execution": execution}
    assert choose_image(single(image), NodeFacts.of(Snapshot(contents), "n1")).finding.state is state
    opposite = FeatureSet(attributes={"64BIT": "y"} if said == "true" else {"IA32_EMULATION": "y", "COMPAT": "y"})
    if said:
        facts = NodeFacts.of(Snapshot(contents | {"kernel.config": opposite}), "n1")
        assert choose_image(single(image), facts).finding.state is state


@pytest.mark.parametrize(
    ("image", "state"),
    [("linux/arm64/v8.2", State.MET), ("linux/arm64/v8.3", State.UNKNOWN), ("linux/arm64", State.MET)],
)
def test_a_level_that_is_proven_counts_also_where_higher_ones_were_not_observed(image: str, state: State) -> None:
    flags = FeatureSet(flags=frozenset({"ARMv8.1", "ARMv8.2"}), unobserved=frozenset({"ARMv8.3"}))
    named = FeatureSet(attributes={"architecture": "arm64"})
    facts = NodeFacts.of(Snapshot({"system.architecture": named, "cpu.cpuid": flags}), "n1")
    assert choose_image(single(image), facts).finding.state is state


def test_index_and_config_that_disagree_are_unknown() -> None:
    image = PlatformImage("sha256:0", claimed=platforms.parse("linux/amd64"), configured=platforms.parse("linux/arm64"))
    choice = choose_image(ImageKnowledge("r", "sha256:i", "index", (image,)), node())
    assert (choice.finding.code, choice.finding.state) == ("platform-contradiction", State.UNKNOWN)


def test_a_wanted_platform_is_taken_and_held_against_the_node() -> None:
    choice = choose_image(index("linux/arm64", "linux/amd64"), node(), platforms.parse("linux/arm64"))
    assert (chosen(choice), choice.finding.state) == ("linux/arm64", State.UNMET)


def test_a_wanted_platform_that_is_not_offered_is_said() -> None:
    choice = choose_image(index("linux/amd64"), node(), platforms.parse("linux/arm64"))
    assert (choice.finding.code, choice.finding.state) == ("platform-missing", State.UNMET)
    assert choice.finding.observed == "linux/amd64"


def test_arm_levels_decide_arm_variants() -> None:
    flags = {"ARMv8.1", "ARMv8.2"}
    assert choose_image(single("linux/arm64/v8.2"), node("arm64", flags=flags)).finding.state is State.MET
    assert choose_image(single("linux/arm64/v9"), node("arm64", flags=flags)).finding.state is State.UNMET
    assert choose_image(single("linux/arm64/v8.2"), node("arm64", flags={"FP"})).finding.state is State.UNKNOWN


@pytest.mark.parametrize(
    ("machine", "image", "state"),
    [
        ("armv6l", "linux/arm/v6", State.MET),
        ("armv6l", "linux/arm/v7", State.UNMET),
        ("armv5tel", "linux/arm/v5", State.MET),
        ("armv7l", "linux/arm", State.MET),
        ("arm", "linux/arm/v5", State.MET),
        ("arm", "linux/arm/v7", State.UNKNOWN),
        (None, "linux/arm/v7", State.UNKNOWN),
    ],
)
def test_a_32_bit_arm_node_is_what_its_kernel_calls_it(machine: str | None, image: str, state: State) -> None:
    assert choose_image(single(image), arm_node(machine)).finding.state is state


@pytest.mark.parametrize(
    ("architecture", "image"), [("riscv64", "linux/riscv64/rva22u64"), ("amd64", "linux/amd64/fast")]
)
def test_a_variant_that_nobody_can_compare_is_unknown(architecture: str, image: str) -> None:
    choice = choose_image(index("linux/s390x", image), node(architecture, flags={"X86_64_V1"}))
    assert (chosen(choice), choice.finding.state) == (image, State.UNKNOWN)
    assert choose_image(single(image), node(architecture, flags={"X86_64_V1"})).finding.state is State.UNKNOWN
    assert chosen(choose_image(index(image, f"linux/{architecture}"), node(architecture))) == f"linux/{architecture}"


def test_of_two_claims_about_the_level_the_higher_one_is_held_against_the_node() -> None:
    image = PlatformImage("sha256:0", platforms.parse("linux/amd64/v3"), platforms.parse("linux/amd64"))
    knowledge = ImageKnowledge("r", "sha256:i", "index", (image,))
    assert choose_image(knowledge, node()).finding.state is State.UNKNOWN
    lying = PlatformImage("sha256:0", platforms.parse("linux/amd64"), platforms.parse("linux/amd64/v3"))
    found = choose_image(ImageKnowledge("r", "sha256:i", "index", (lying,)), node(flags={"X86_64_V1"})).finding
    assert (found.state, found.expected) == (State.UNMET, "linux/amd64/v3")


@pytest.mark.parametrize("kind", [ArtifactKind.HELM, ArtifactKind.WASM])
def test_what_has_no_platform_leaves_the_answer_to_what_is_declared(kind: ArtifactKind) -> None:
    artifact = PlatformImage("sha256:a", kind=kind)
    finding = choose_image(ImageKnowledge("app", "sha256:a", "", (artifact,)), node()).finding
    assert (finding.code, finding.state) == ("platform-free", State.MET)
    assert kind.phrase in finding.expected


def test_a_singularity_file_in_a_registry_stays_unknown_and_says_what_settles_it() -> None:
    artifact = PlatformImage("sha256:a", kind=ArtifactKind.SIF)
    finding = choose_image(ImageKnowledge("app", "sha256:a", "", (artifact,)), node()).finding
    assert finding.state is State.UNKNOWN
    assert "nodeworthy check FILE.sif" in finding.settle


def emulating(*, enabled: str = "true", architecture: str = "arm64") -> NodeFacts:
    handler = {"name": "qemu", "enabled": enabled, "architecture": architecture, "interpreter": "/usr/bin/qemu"}
    facts = Snapshot(
        {
            "system.architecture": FeatureSet(attributes={"architecture": "amd64"}),
            "kernel.binfmt": FeatureSet(instances=(handler,)),
        }
    )
    return NodeFacts.of(facts, "n1")


@pytest.mark.parametrize("knowledge", [single("linux/arm64"), index("linux/arm64", "linux/s390x")])
def test_nobody_knows_how_far_another_architecture_gets_under_an_emulator(knowledge: ImageKnowledge) -> None:
    finding = choose_image(knowledge, emulating()).finding
    assert (finding.code, finding.state) == ("platform-emulated", State.UNKNOWN)
    assert "/usr/bin/qemu" in finding.observed
    assert choose_image(knowledge, emulating(enabled="false")).finding.state is State.UNMET
    assert choose_image(knowledge, emulating(architecture="riscv64")).finding.state is State.UNMET


def test_an_emulator_does_not_run_another_operating_system() -> None:
    assert choose_image(single("windows/arm64"), emulating()).finding.state is State.UNMET


def windows_node(build: str, *, by_kubelet: bool = True) -> NodeFacts:
    said = {"os": "windows", "architecture": "amd64", "kernel_version": build}
    name, attributes = ("kubernetes.node", said) if by_kubelet else ("kernel.version", {"full": build})
    return NodeFacts.of(Snapshot({name: FeatureSet(attributes=attributes)}), "w1")


@pytest.mark.parametrize("by_kubelet", [True, False])
def test_a_windows_node_takes_images_of_its_build_and_no_linux(by_kubelet: bool) -> None:
    node = windows_node("10.0.17763.5329", by_kubelet=by_kubelet)
    assert str(node.platform) == "windows/amd64:10.0.17763.5329"
    images = index("linux/amd64", "windows(10.0.17763.1)/amd64", "windows(10.0.20348.1)/amd64")
    choice = choose_image(images, node)
    assert (chosen(choice), choice.finding.state) == ("windows/amd64:10.0.17763.1", State.MET)
    assert choose_image(index("linux/amd64"), node).finding.state is State.UNMET
    assert choose_image(index("windows(10.0.20348.1)/amd64"), node).finding.state is State.UNMET


def test_a_32_bit_program_that_an_emulator_would_take_is_not_refused() -> None:
    facts = {
        "system.architecture": FeatureSet(attributes={"architecture": "arm64"}),
        "cpu.execution": FeatureSet(attributes={"aarch32": "false"}),
    }
    assert choose_image(single("linux/arm/v7"), NodeFacts.of(Snapshot(facts))).finding.state is State.UNMET
    handler = {"name": "qemu-arm", "enabled": "true", "architecture": "arm", "interpreter": "/usr/bin/qemu-arm"}
    emulating = Snapshot({**facts, "kernel.binfmt": FeatureSet(instances=(handler,))})
    finding = choose_image(single("linux/arm/v7"), NodeFacts.of(emulating)).finding
    assert (finding.code, finding.state) == ("platform-emulated", State.UNKNOWN)
