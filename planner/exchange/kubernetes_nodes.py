"""Servers of a cluster, from `kubectl get nodes -o json`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from pydantic import Field

from planner.errors import Finding, refuse
from planner.exchange.exported import Exported, of_export
from planner.exchange.inventory import Server

_NVIDIA = "nvidia.com/gpu"
_PRODUCT, _COUNT, _REPLICAS = (f"{_NVIDIA}.{part}" for part in ("product", "count", "replicas"))
_MACHINE = f"{_NVIDIA}.machine"
_AMD_PRODUCTS = ("amd.com/gpu.product-name", "beta.amd.com/gpu.product-name")
_LISTS = {"List", "NodeList"}
_CLOUDS = {"aws": "AWS", "azure": "Azure", "gce": "Google Cloud", "oci": "Oracle Cloud"}
"""By the scheme of `providerID`, as their cloud controllers write it."""


class _Metadata(Exported):
    name: str
    labels: dict[str, str] = Field(default_factory=dict)


class _Spec(Exported):
    provider_id: str = Field(default="", alias="providerID")


class _Status(Exported):
    capacity: dict[str, str] = Field(default_factory=dict)


class _Node(Exported):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _Nodes(Exported):
    items: tuple[_Node, ...]


def is_nodes(data: Any) -> bool:  # noqa: ANN401 - whatever JSON can hold
    """Whether this is a node, or a list of nodes; of an empty list nobody knows."""
    if not isinstance(data, dict):
        return False
    items = data.get("items")
    if data.get("kind") not in _LISTS or not isinstance(items, list):
        return data.get("kind") == "Node"
    return data["kind"] == "NodeList" or not items or _kind(items[0]) == "Node"


def _kind(item: object) -> object:
    return item.get("kind") if isinstance(item, dict) else None


def servers_of(data: Any, shown_as: str, resources: Collection[str]) -> tuple[Server, ...]:  # noqa: ANN401
    """Nodes with GPUs, by the labels of GPU feature discovery and what they have of `resources`.

    Raises InputError for what does not read, with its place, and where no node has GPUs.
    """
    listed = data if data.get("kind") in _LISTS else {"items": [data]}
    nodes = of_export(_Nodes, listed, shown_as).items
    findings: list[Finding] = []
    servers = []
    for place, node in enumerate(nodes):
        try:
            gpus = tuple(_gpus(node, resources))
        except ValueError as error:
            findings.append(Finding(str(error), file=shown_as, path=f"items[{place}]"))
            continue
        if gpus:
            labels, provider = node.metadata.labels, node.spec.provider_id.partition(":")[0]
            cloud = _CLOUDS.get(provider, "")
            servers.append(Server(node.metadata.name, gpus, labels.get(_MACHINE, ""), cloud))
    if not findings and not servers:
        message = f"has no node with GPUs, of {len(nodes)}" if nodes else "lists nothing"
        hint = "`kubectl get nodes -o json` of whom may see all nodes, with their device plugins"
        findings.append(Finding(message, file=shown_as, hint=hint))
    refuse(findings)
    return tuple(servers)


def _gpus(node: _Node, resources: Collection[str]) -> Iterator[tuple[str, int]]:
    """Products and how many; raises ValueError for a quantity that is no whole number."""
    labels, capacity = node.metadata.labels, node.status.capacity
    product = labels.get(_PRODUCT, "")
    if _COUNT in labels:  # of GPUs, or of partitions; where GPUs are shared, capacity counts parts
        nvidia = _whole(labels[_COUNT], _COUNT, node)
    else:
        parts = _whole(capacity.get(_NVIDIA, "0"), _NVIDIA, node)
        nvidia = parts // max(1, _whole(labels.get(_REPLICAS, "1"), _REPLICAS, node))
    if nvidia:
        yield product, nvidia
    amd = next((labels[name] for name in _AMD_PRODUCTS if name in labels), "")
    for resource in sorted(set(resources) - {_NVIDIA}):
        if count := _whole(capacity.get(resource, "0"), resource, node):
            yield amd if resource.startswith("amd.") else resource, count


def _whole(quantity: str, name: str, node: _Node) -> int:
    if not quantity.isascii() or not quantity.isdecimal() or len(quantity) > 9:
        raise ValueError(f"{node.metadata.name}: {quantity[:20]!r} of {name} is no number of GPUs")
    return int(quantity)
