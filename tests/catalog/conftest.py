"""The shipped catalog, read without the planner's own reader so that it is judged on its own."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.inputs.catalog.catalog import Catalog, CatalogFile, PriceBook
from planner.inputs.reading.locate import MODEL_TYPES, PRODUCT_NAMES

FOLDER = Path(__file__).parents[2] / "catalog"


def with_tuples(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(with_tuples(item) for item in value)
    if isinstance(value, dict):
        return {key: with_tuples(item) for key, item in value.items()}
    return value


@pytest.fixture(scope="session")
def files() -> dict[str, CatalogFile]:
    return {
        path.name: CatalogFile.model_validate(
            with_tuples(yaml.load(path.read_text("utf-8"), Loader=yaml.CSafeLoader))
        )
        for path in sorted(FOLDER.glob("*.yaml"))
        if path.name not in (MODEL_TYPES, PRODUCT_NAMES)
    }


@pytest.fixture(scope="session")
def catalog(files: dict[str, CatalogFile]) -> Catalog:
    def merged(part: str) -> dict[str, Any]:
        return {key: entry for file in files.values() for key, entry in getattr(file, part).items()}

    (header,) = (file.price_book for file in files.values() if file.price_book)
    return Catalog(
        sources=merged("sources"),
        gpus=merged("gpus"),
        nodes=merged("nodes"),
        models=merged("models"),
        prices=PriceBook(header=header, purchase=merged("purchase"), rent=merged("rent")),
    )
