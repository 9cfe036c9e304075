"""The manifests as they are rendered: taken by a real API server, tight, and in agreement with the services' settings."""

import re
import subprocess
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING

import pytest
from tests.deploy.conftest import DEPLOY, Applier, of_kind, render, templates
from tests.kubernetes.api import MERGE, Answer, Object
from tests.kubernetes.cluster import Cluster

from nodeworthy_cli.main import VERBS
from nodeworthy_detector.configuration_reader import read_configuration
from nodeworthy_detector.settings import CONFIGURATION, read_settings
from nodeworthy_resolver.settings import read_settings as read_resolver_settings

if TYPE_CHECKING:
    from tests.kubernetes.fixtures import Kubectl

PARTS = ("detector", "labeler", "resolver", "validator")
VERB = re.compile(r"[a-z]+")


@pytest.mark.usefixtures("installed")
def test_the_documented_command_takes_everything_strictly(kubectl: "Kubectl", overlay: Path) -> None:
    done = kubectl(
        "apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-k", str(overlay)
    )
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) > 25


def test_every_object_is_there_under_its_name(installed: Applier, manifests: list[Object], cluster: Cluster) -> None:
    for value in manifests:
        assert cluster.admin.request("GET", installed.path(value)).status == 200


def test_a_base_without_passwords_renders_too(kubectl: "Kubectl") -> None:
    assert "secretKeyRef" in kubectl("kustomize", str(DEPLOY / "kustomize" / "base")).stdout


def test_passwords_are_made_once_and_for_their_owner_only(overlay: Path) -> None:
    files = sorted((overlay / "passwords").iterdir())
    contents = [path.read_text() for path in files]
    assert len(set(contents)) == len(files) == 6
    assert all(re.fullmatch(r"password=p[0-9a-f]{48}\n", content) for content in contents)
    assert {oct(path.stat().st_mode & 0o777) for path in files} == {"0o600"}
    subprocess.run([overlay / "make-passwords.sh"], check=True, capture_output=True)
    assert [path.read_text() for path in files] == contents


def test_what_pods_name_is_there(manifests: list[Object]) -> None:
    there = {(value["kind"], value["metadata"]["name"]) for value in manifests}
    for part, template in templates(manifests).items():
        spec = template["spec"]
        (container,) = spec["containers"]
        named = {("Secret", ref["name"]) for ref in secret_refs(container)}
        volumes = spec.get("volumes", [])
        named |= {("ConfigMap", volume["configMap"]["name"]) for volume in volumes if "configMap" in volume}
        if "serviceAccountName" in spec:
            named.add(("ServiceAccount", spec["serviceAccountName"]))
        assert named <= there, part


def test_a_pod_has_the_password_of_its_own_user_only(manifests: list[Object]) -> None:
    users = {"detector": "detectors"} | {part: part for part in PARTS[1:]}
    for part, user in users.items():
        (container,) = templates(manifests)[part]["spec"]["containers"]
        names = [ref["name"].rpartition("-")[0] for ref in secret_refs(container)]
        assert names == [f"nodeworthy-bus-{user}"]
        assert variables(container)["NODEWORTHY_USER"] == user


def test_only_the_labeler_has_a_token_of_the_api_server(manifests: list[Object]) -> None:
    mounted = {
        part: template["spec"]["automountServiceAccountToken"] for part, template in templates(manifests).items()
    }
    assert mounted == {part: part == "labeler" for part in (*PARTS, "nats")}


def secret_refs(container: Object) -> list[Object]:
    return [one["valueFrom"]["secretKeyRef"] for one in container["env"] if "secretKeyRef" in one.get("valueFrom", {})]


def variables(container: Object) -> dict[str, str]:
    return {one["name"]: one["value"] for one in container["env"] if "value" in one}


@pytest.mark.parametrize("part", ["labeler", "resolver", "validator", "nats"])
def test_a_pod_keeps_to_the_restricted_standard(part: str, cluster: Cluster, manifests: list[Object]) -> None:
    assert try_restricted(cluster, templates(manifests)[part], f"restricted-{part}").status == 201


def test_the_detector_breaks_the_restricted_standard_by_its_mount_of_the_host_alone(
    cluster: Cluster, manifests: list[Object]
) -> None:
    answer = try_restricted(cluster, templates(manifests)["detector"], "restricted-detector")
    assert answer.status == 403
    _, _, broken = answer.body["message"].partition('violates PodSecurity "restricted:latest": ')
    # One standard is named per sentence, and the sentences are separated by commas.
    assert broken == 'restricted volume types (volume "host" uses restricted volume type "hostPath")'
    template = templates(manifests)["detector"]
    assert [volume["name"] for volume in template["spec"]["volumes"] if "hostPath" in volume] == ["host"]
    (container,) = template["spec"]["containers"]
    (mount,) = [mount for mount in container["volumeMounts"] if mount["name"] == "host"]
    assert mount["readOnly"] is True


def try_restricted(cluster: Cluster, template: Object, namespace: str) -> Answer:
    cluster.create_namespace(namespace)
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    path = f"/api/v1/namespaces/{namespace}"
    cluster.admin.must("PATCH", path, {"metadata": {"labels": labels}}, content=MERGE)
    claims = [{"name": "data", "emptyDir": {}}] if "data" in str(template) else []
    spec = template["spec"] | {"volumes": [*template["spec"].get("volumes", []), *claims]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": spec}
    return cluster.admin.request("POST", f"{path}/pods?dryRun=All&fieldValidation=Strict", pod)


def test_no_two_parts_on_one_node_run_as_the_user_of_the_detector(manifests: list[Object]) -> None:
    users = {part: template["spec"]["securityContext"]["runAsUser"] for part, template in templates(manifests).items()}
    detector = users.pop("detector")
    assert detector not in users.values()
    assert detector not in {0, 65532, 65534, 65535}  # what images of other projects use


def test_selectors_and_policies_meet_their_pods(manifests: list[Object]) -> None:
    labels = [template["metadata"]["labels"] for template in templates(manifests).values()]
    for value in of_kind(manifests, "Service"):
        assert sum(value["spec"]["selector"].items() <= one.items() for one in labels) == 1
    for value in of_kind(manifests, "PodDisruptionBudget"):
        assert sum(value["spec"]["selector"]["matchLabels"].items() <= one.items() for one in labels) == 1
    policies = {
        value["metadata"]["name"]: value["spec"]["podSelector"] for value in of_kind(manifests, "NetworkPolicy")
    }
    (expression,) = policies["nodeworthy-http"]["matchExpressions"]
    covered = {*expression["values"], policies["nodeworthy-nats"]["matchLabels"]["app.kubernetes.io/name"]}
    assert covered == {one["app.kubernetes.io/name"] for one in labels}


@pytest.mark.parametrize("part", PARTS)
def test_a_pod_runs_the_verb_of_its_part_with_an_image_that_the_overlay_names(
    part: str, manifests: list[Object]
) -> None:
    (container,) = templates(manifests)[part]["spec"]["containers"]
    assert container["args"] == [part]
    assert part in VERBS
    assert container["image"].startswith(f"registry.example.com/nodeworthy/{part}:")


def test_the_detectors_settings_say_what_the_manifest_means(manifests: list[Object]) -> None:
    (container,) = templates(manifests)["detector"]["spec"]["containers"]
    settings = read_settings(variables(container))
    (mount,) = [mount for mount in container["volumeMounts"] if mount["name"] == "host"]
    assert str(settings.host_root) == mount["mountPath"]
    assert (settings.http_host, settings.http_port) == ("0.0.0.0", container["ports"][0]["containerPort"])
    assert container["env"][0] == {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}


def test_the_example_of_a_configuration_has_no_problem(overlay: Path, manifests: list[Object]) -> None:
    (container,) = templates(manifests)["detector"]["spec"]["containers"]
    assert {"name": "configuration", "mountPath": str(CONFIGURATION.parent), "readOnly": True} in container[
        "volumeMounts"
    ]
    outcome = read_configuration((overlay / CONFIGURATION.name).read_bytes(), CONFIGURATION.name)
    assert (outcome.problems, outcome.notices) == ((), ())


def test_the_documented_patch_for_registries_fits(kubernetes_programs: Path, overlay: Path) -> None:
    text = (DEPLOY.parent / "docs" / "kubernetes.md").read_text()
    (patch,) = re.findall(r"```yaml\n(patches:.*?)```", text, re.DOTALL)
    mine = copytree(overlay, overlay.with_name("mine"), dirs_exist_ok=True)
    with (mine / "kustomization.yaml").open("a") as file:
        file.write(patch)
    (container,) = templates(render(kubernetes_programs, mine))["resolver"]["spec"]["containers"]
    settings = read_resolver_settings(variables(container), Path("/"))
    (mount,) = container["volumeMounts"]
    assert settings.registries.config == Path(mount["mountPath"], "config.json")


def test_every_right_of_the_labeler_is_told_in_the_document(manifests: list[Object]) -> None:
    text = (DEPLOY.parent / "docs" / "kubernetes.md").read_text()
    for role in of_kind(manifests, "Role", "ClusterRole"):
        for rule in role["rules"]:
            for resource in rule["resources"]:
                word = "status" if resource.startswith("nodefeature") and "/" in resource else resource
                rows = [line for line in text.splitlines() if line.startswith("| ") and f"`{word}`" in line]
                assert {verb for row in rows for verb in VERB.findall(row.split("|")[1])} >= {*rule["verbs"]}, resource
