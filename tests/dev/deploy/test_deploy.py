"""The files of ``deploy/`` are valid, agree with each other, and ask of the server only what it has."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib

import pytest
import yaml

from checker.course.paths import ROOT
from cli.main import main

DEPLOY = ROOT / "deploy"
CONTAINERFILE = (DEPLOY / "Containerfile").read_text()
MANIFESTS = sorted(path for path in (DEPLOY / "kubernetes").glob("*.yaml") if path.name != "kustomization.yaml")
KUBERNETES = "1.37"


def read(path):
    return yaml.safe_load(path.read_text())


def pod():
    return read(DEPLOY / "kubernetes" / "deployment.yaml")["spec"]["template"]["spec"]


def container():
    (one,) = pod()["containers"]
    return one


def replica():
    return read(DEPLOY / "compose.yaml")["services"]["replica-1"]


def option(arguments, name):
    return arguments[arguments.index(name) + 1]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_kubernetes_would_take_each_manifest(path):
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    for manifest in yaml.safe_load_all(path.read_text()):
        kubernetes_validate.validate(manifest, KUBERNETES, strict=True)


def test_a_wrong_manifest_would_be_noticed():
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    manifest = read(DEPLOY / "kubernetes" / "service.yaml")
    manifest["spec"]["selectors"] = manifest["spec"].pop("selector")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(manifest, KUBERNETES, strict=True)


def test_the_kustomization_names_every_manifest():
    listed = read(DEPLOY / "kubernetes" / "kustomization.yaml")
    assert sorted(listed["resources"]) == [path.name for path in MANIFESTS]
    assert [image["name"] for image in listed["images"]] == [container()["image"]]


def test_compose_would_take_its_file():
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    run = subprocess.run([*command, str(DEPLOY / "compose.yaml")], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_hadolint_finds_nothing_in_the_containerfile():
    hadolint = shutil.which("hadolint", path=f"{ROOT / '.venv' / 'bin'}:{sys.prefix}/bin") or shutil.which("hadolint")
    if not hadolint:
        pytest.skip("hadolint is not installed")
    run = subprocess.run([hadolint, str(DEPLOY / "Containerfile")], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout


def copied():
    """What the Containerfile copies into the image, from where it is built."""
    return [path for line in re.findall(r"^COPY --chown=\S+ (.+) \S+$", CONTAINERFILE, re.M) for path in line.split()]


def test_the_image_has_all_that_the_server_needs(tmp_path):
    for name in copied():
        source, target = ROOT / name, tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    (tmp_path / "steps").mkdir()
    (line,) = re.findall(r"^ENTRYPOINT (.+)$", CONTAINERFILE, re.M)
    command = [sys.executable, *yaml.safe_load(line)[1:]]
    command[command.index("--model") + 1] = str(tmp_path / "no model")
    run = subprocess.run([*command, "--no-key"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "no model is not a folder here" in run.stderr  # it came as far as that
    assert run.returncode == 2


def test_what_is_not_copied_does_not_even_reach_the_build():
    taken = [line[1:] for line in (DEPLOY / "Containerfile.dockerignore").read_text().splitlines() if line[:1] == "!"]
    assert sorted(taken) == sorted(copied())


def test_the_file_of_keys_is_made_readable_for_the_user_of_the_container_and_nobody_else():
    (line,) = re.findall(r"^# +(sudo chown .+)$", (DEPLOY / "compose.yaml").read_text(), re.M)
    keys = read(DEPLOY / "compose.yaml")["secrets"]["api-keys"]["file"]
    file = f"deploy/{keys.removeprefix('./')}"
    (user,) = re.findall(r"useradd --uid (\d+)", CONTAINERFILE)
    assert line == f"sudo chown {user} {file} && sudo chmod 400 {file}"


def test_nothing_runs_as_root():
    (user,) = re.findall(r"useradd --uid (\d+)", CONTAINERFILE)
    assert re.search(rf"^USER {user}$", CONTAINERFILE, re.M)
    assert pod()["securityContext"]["runAsUser"] == int(user)
    assert pod()["securityContext"]["runAsNonRoot"]
    assert not container()["securityContext"]["allowPrivilegeEscalation"]


def test_the_server_has_every_option():
    helped = subprocess.run(
        [sys.executable, "-m", "cli", "serve", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    (entrypoint,) = re.findall(r"^ENTRYPOINT (.+)$", CONTAINERFILE, re.M)
    (command,) = re.findall(r"^CMD (.+)$", CONTAINERFILE, re.M)
    ray = read(DEPLOY / "ray" / "serve.yaml")["applications"][0]["args"]["command"]
    lines = [yaml.safe_load(entrypoint), yaml.safe_load(command), container()["args"], replica()["command"]]
    used = {word for line in [*lines, shlex.split(ray)] for word in line if word.startswith("--")}
    assert {"--host", "--api-key", "--grace"} <= used
    assert [name for name in sorted(used) if not re.search(rf"{name}\b", helped)] == []


def test_the_paths_of_the_probes_are_the_servers():
    from play.serving.front.probes import PROBES

    probes = {name: container()[f"{name}Probe"]["httpGet"]["path"] for name in ("readiness", "liveness")}
    assert probes == {"readiness": "/ready", "liveness": "/health"}
    assert set(probes.values()) <= set(PROBES)
    annotated = read(DEPLOY / "kubernetes" / "deployment.yaml")["spec"]["template"]["metadata"]["annotations"]
    assert annotated["prometheus.io/path"] in PROBES


def test_who_kills_waits_for_longer_than_the_server_drains():
    before = float(container()["lifecycle"]["preStop"]["exec"]["command"][1])
    grace = float(option(container()["args"], "--grace"))
    assert pod()["terminationGracePeriodSeconds"] > before + grace
    assert float(replica()["stop_grace_period"].removesuffix("s")) > float(option(replica()["command"], "--grace"))


def test_the_autoscaler_asks_for_a_metric_that_the_server_has():
    scaler = read(DEPLOY / "kubernetes" / "autoscaler.yaml")["spec"]
    (metric,) = scaler["metrics"]
    name = metric["pods"]["metric"]["name"]
    assert name in (DEPLOY / "README.md").read_text()
    sources = "".join(path.read_text() for path in (ROOT / "play" / "serving").rglob("*.py"))
    assert name.removeprefix("gpt2_") in sources
    assert float(metric["pods"]["target"]["averageValue"]) < float(option(container()["args"], "--queue"))
    assert scaler["minReplicas"] > read(DEPLOY / "kubernetes" / "disruption-budget.yaml")["spec"]["minAvailable"]


def test_one_configuration_of_haproxy_is_everywhere():
    balancer = read(DEPLOY / "compose.yaml")["services"]["balancer"]
    configuration = (DEPLOY / "haproxy" / "haproxy.cfg").read_text()
    assert set(re.findall(r'"\$\{(\w+)\}"', configuration)) == set(balancer["environment"])
    (mounted,) = balancer["volumes"]
    assert (DEPLOY / mounted.split(":")[0]).samefile(DEPLOY / "haproxy" / "haproxy.cfg")


def test_the_balancer_is_more_patient_than_the_server():
    (seconds,) = re.findall(r"timeout server (\d+)s", (DEPLOY / "haproxy" / "haproxy.cfg").read_text())
    limit = next(option.default for option in main.commands["serve"].params if option.name == "time_limit")
    assert int(seconds) > limit


def test_the_book_quotes_the_configuration_as_it_is():
    chapter = (ROOT / "book" / "src" / "more_than_one.md").read_text()
    lines = [
        " ".join(line.split("  #")[0].split()) for line in (DEPLOY / "haproxy" / "haproxy.cfg").read_text().splitlines()
    ]
    quoted = [line for block in re.findall(r"```text\n(.*?)```", chapter, re.S) for line in block.splitlines()]
    assert len(quoted) > 5
    assert [line for line in quoted if line not in lines] == []


def test_python_of_the_image_is_one_that_the_course_runs_on():
    (version,) = re.findall(r"^ARG BASE=\S+python:(\d+\.\d+)", CONTAINERFILE, re.M)
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    least, most = re.findall(r"3\.(\d+)", stated)
    assert int(least) <= int(version.split(".")[1]) < int(most)
