"""The page on the catalog shows files that the planner takes, and counts right."""

import re
from pathlib import Path

import pytest
import yaml

from planner.inputs.catalog.catalog import Catalog
from planner.inputs.load import load_catalog

PAGE = (Path(__file__).parents[2] / "docs" / "catalog.md").read_text("utf-8")
BLOCKS = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
OWN_FILES = [block for block in BLOCKS if "sources" in block]
CONFIGURATION = (
    '{"model_type": "llama", "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008,'
    ' "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 4096}'
)


def test_the_page_shows_a_file_for_each_kind_of_entry() -> None:
    shown = {part for block in OWN_FILES for part in block}
    assert shown == {"sources", "gpus", "nodes", "models", "price_book", "purchase", "rent"}


@pytest.mark.parametrize("block", OWN_FILES, ids=range(len(OWN_FILES)))
def test_a_file_that_the_page_shows_is_a_catalog_file(block: object, tmp_path: Path) -> None:
    (tmp_path / "models" / "our-model").mkdir(parents=True)
    (tmp_path / "models" / "our-model" / "config.json").write_text(CONFIGURATION)
    own = tmp_path / "own.yaml"
    own.write_text(yaml.safe_dump(block))
    load_catalog([own])


def test_the_figure_that_the_page_explains_is_in_the_catalog(catalog: Catalog) -> None:
    (shown,) = [block["mean_power_kw"] for block in BLOCKS if "mean_power_kw" in block]
    figure = catalog.nodes["xe7740-h200-nvl"].mean_power_kw
    assert figure is not None
    assert (float(figure.value), figure.source, figure.basis, figure.note) == tuple(shown.values())
