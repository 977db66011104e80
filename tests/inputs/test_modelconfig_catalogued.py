"""A catalog file may leave a model's figures to a config.json beside it."""

import hashlib
import json
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from planner.errors import Finding, InputError
from planner.inputs.load import load_catalog
from tests.stated import load_inputs

Write = Callable[..., Path]


pytestmark = pytest.mark.usefixtures("small_world")

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 128256,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
}
ENTRY = "models:\n  our-model: {config: models/our-model/config.json}\n"


@pytest.fixture
def configured(write: Write) -> Callable[..., Path]:
    """Write a catalog file and the configuration that it names; gives the catalog file."""

    def configured(entry: str = ENTRY, **changes: object) -> Path:
        kept = {key: value for key, value in (LLAMA | changes).items() if value is not ...}
        write(json.dumps(kept, indent=2), "models/our-model/config.json")
        return write(entry, "own.yaml")

    return configured


def told(*catalog: Path) -> tuple[Finding, ...]:
    with pytest.raises(InputError) as caught:
        load_catalog(catalog)
    return caught.value.findings


def test_the_shape_is_read_from_the_configuration(configured: Callable[..., Path]) -> None:
    catalog, _ = load_catalog([configured()])

    model = catalog.models["our-model"]
    assert model.parameters_b == Decimal("8.030261248")
    assert (model.layers, model.kv_heads, model.head_dim) == (32, 8, 128)
    assert (model.name, model.basis, model.note) == ("our-model", "derived", None)
    assert model.source.startswith("models/our-model/config.json (sha256 ")


def test_name_source_and_note_may_stand_beside_it_and_what_is_not_counted_stays_told(
    configured: Callable[..., Path],
) -> None:
    entry = (
        "models:\n  our-model: {config: models/our-model/config.json, name: our/model,"
        " source: card, note: tuned in May}\nsources: {card: {title: Our card}}\n"
    )

    catalog, _ = load_catalog([configured(entry, num_nextn_predict_layers=1)])

    model = catalog.models["our-model"]
    assert (model.name, model.source) == ("our/model", "card")
    assert model.note == (
        "tuned in May; decoder alone, without the layers that predict further tokens"
    )


def test_the_configuration_is_recorded_with_its_hash_whatever_its_line_ends(
    configured: Callable[..., Path], tmp_path: Path
) -> None:
    own = configured()
    config = tmp_path / "models" / "our-model" / "config.json"
    unix = load_catalog([own])
    config.write_bytes(config.read_bytes().replace(b"\n", b"\r\n"))

    assert load_catalog([own]) == unix
    record = unix[1][-1]
    assert (record.role, record.path) == ("catalog", config.as_posix())
    assert record.sha256 == hashlib.sha256(config.read_bytes().replace(b"\r", b"")).hexdigest()


def test_a_scenario_names_it_relative_to_itself(
    configured: Callable[..., Path], write: Write, scenario_text: str
) -> None:
    configured()
    used = scenario_text.replace("model: small-8b", "model: our-model")
    path = write(used + "use: {catalog: [own.yaml]}\n")

    inputs = load_inputs(path)

    assert "our-model" in inputs.catalog.models
    assert [file.path for file in inputs.files if file.role == "catalog"][-2:] == [
        "own.yaml",
        "models/our-model/config.json",
    ]


def test_mistakes_point_into_the_configuration_and_are_told_with_those_of_the_catalog(
    configured: Callable[..., Path], tmp_path: Path
) -> None:
    entry = ENTRY + "gpus: {x: {}}\n"

    findings = told(configured(entry, hidden_size="4096", vocab_size=...))

    config = tmp_path / "models" / "our-model" / "config.json"
    of_config = {(f.path, f.line) for f in findings if f.file == str(config)}
    assert of_config == {("hidden_size", 3), ("vocab_size", 1)}
    assert any(f.path == "gpus.x.vendor" for f in findings)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("../config.json", "leads out of the catalog file's folder"),
        ("/etc/hostname", "leads out of the catalog file's folder"),
        ("https://example.org/config.json", "is an address, only files are read"),
        ("models/our-model/confg.json", "no such file"),
        ("models/Our-Model/config.json", "no such file"),
        ("models/our-model", "is not an ordinary file"),
        ("link.json", "is a link that leads out of the catalog file's folder"),
        ("pipe.json", "is not an ordinary file"),
    ],
)
def test_only_a_file_inside_the_catalog_files_folder_is_read(
    configured: Callable[..., Path], tmp_path: Path, config: str, message: str
) -> None:
    (tmp_path / "link.json").symlink_to("/etc/hostname")
    os.mkfifo(tmp_path / "pipe.json")

    own = configured(f"models:\n  our-model: {{config: {config}}}\n")
    (finding,) = told(own)

    assert message in finding.message
    assert (finding.file, finding.line, finding.path) == (str(own), 2, "models.our-model.config")


@pytest.mark.parametrize(
    ("entry", "path", "message"),
    [
        ("{config: models/our-model/config.json, layers: 32}", "layers", "unknown key 'layers'"),
        ("{config: true}", "config", "true is not text"),
        ("{config: }", "config", "is empty"),
        ("{config: [a.json]}", "config", "is not text"),
        ("{config: models/our-model/config.json, source: nowhere}", "source", "is neither a key"),
    ],
)
def test_what_an_entry_says_beside_its_configuration_is_checked(
    configured: Callable[..., Path], entry: str, path: str, message: str
) -> None:
    (finding,) = told(configured(f"models:\n  our-model: {entry}\n"))

    assert message in finding.message
    assert (finding.path, finding.line) == (f"models.our-model.{path}", 2)
