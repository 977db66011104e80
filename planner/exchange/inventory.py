"""Servers as their drivers or their cluster tell, and the node types of the catalog they are.

Read are `nvidia-smi -q -x` of a server and `kubectl get nodes -o json` of a cluster.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from pydantic import Field

from planner.errors import Finding, InputError, refuse
from planner.exchange import Exported, of_export
from planner.inputs.base import Frozen
from planner.inputs.catalog.catalog import Catalog, GpuType
from planner.inputs.reading.diagnostics import validate
from planner.inputs.reading.locate import PRODUCT_NAMES, shipped
from planner.inputs.reading.reader import read_document
from planner.inputs.text import count_of, nearest, one_of

_PARTITIONED = re.compile(r"(?P<product>.+)-MIG-(?P<profile>[0-9]+g\.[0-9]+gb)(?:\..+)?", re.I)
"""How a cluster calls GPUs whose partitions are all of one profile; then it counts these."""
_SHARED = "-SHARED"
_LETTERS = re.compile(r"[^a-z0-9]")
_NAMED, _LONGEST = 3, 60


@dataclass(frozen=True, slots=True)
class Server:
    """A machine and its GPUs, under the names that are reported."""

    name: str
    gpus: tuple[tuple[str, int], ...]
    """How many of each product, or of its partitions where the name says so."""
    machine: str = ""
    """Product name of the server; empty where nothing reports it."""
    cloud: str = ""
    """Who runs it; empty on premises."""


@dataclass(frozen=True, slots=True)
class KnownServers:
    """Servers of one node type."""

    node_type: str
    count: int
    doubt: str
    """Why it may be another node type after all; empty where it cannot."""


def recognized(
    servers: Iterable[Server], catalog: Catalog
) -> tuple[tuple[KnownServers, ...], tuple[str, ...]]:
    """Servers by node type, and in a sentence each kind that the catalog does not know."""
    alike: defaultdict[Server, list[str]] = defaultdict(list)
    for server in servers:
        alike[replace(server, name="")].append(server.name)
    known, unknown = [], []
    for kind, names in alike.items():
        try:
            node_type, doubt = _node_type(kind, *_gpus_of(kind, catalog.gpus), catalog)
        except LookupError as error:
            shown = ", ".join(name[:_LONGEST] for name in names[:_NAMED])
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            unknown.append(_in_a_line(f"{shown}{more}: {error.args[0]}"))
        else:
            known.append(KnownServers(node_type, len(names), _in_a_line(doubt)))
    return tuple(known), tuple(unknown)


def _in_a_line(text: str) -> str:
    """Without what could end the remark that it becomes, whatever another program reports."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())


def _gpus_of(server: Server, known: Mapping[str, GpuType]) -> tuple[str, int]:
    """The GPU type of a server and how many it has; raises LookupError in the user's words."""
    names, counted = gpu_types_by_name(), Counter[str]()
    for reported, count in server.gpus:
        product = reported.removesuffix(_SHARED)
        parted = _PARTITIONED.fullmatch(product)
        product = parted["product"] if parted else product
        if not product:
            raise LookupError(f"{count_of(count, 'GPU')} without the name of a product")
        gpu_type = names.get(plain_name(product))
        if gpu_type is None:
            near = list(dict.fromkeys(names[one] for one in nearest(plain_name(product), names)))
            hint = f"; nearest: {one_of(near)}" if near else ""
            told = f"{count} x {product[:_LONGEST]!r}, which is no GPU type of the catalog{hint}"
            raise LookupError(told)
        gpus = _whole(known[gpu_type], parted["profile"], count) if parted else count
        counted[gpu_type] += gpus
    if len(counted) > 1:
        held = " and ".join(f"{count} x {gpu_type}" for gpu_type, count in counted.items())
        raise LookupError(f"{held} in one server, and node types have GPUs of one type")
    return next(iter(counted.items()))


def _whole(gpu: GpuType, profile: str, partitions: int) -> int:
    """GPUs of which so many partitions of one profile are made; raises LookupError."""
    known = gpu.mig_profiles.get(profile.lower())
    if known is None:
        raise LookupError(f"partitions of {profile}, which its GPUs do not have")
    end, of_gpu = 0, 0
    for start in sorted(known.placement_starts):
        if start >= end and (of_gpu + 1) * known.compute_slices <= gpu.compute_slices:
            of_gpu, end = of_gpu + 1, start + known.memory_slices
    if partitions % of_gpu:
        told = f"{partitions} partitions of {profile} are of no whole number of GPUs"
        raise LookupError(f"{told}, {of_gpu} on each")
    return partitions // of_gpu


def _node_type(server: Server, gpu_type: str, gpus: int, catalog: Catalog) -> tuple[str, str]:
    """The node type, and what makes it doubtful; raises LookupError where there is none."""
    of_type = {name: node for name, node in catalog.nodes.items() if node.gpu_type == gpu_type}
    fit = {name: node for name, node in of_type.items() if node.gpus.value == gpus}
    if not fit:
        near = [f"{name} with {node.gpus.value}" for name, node in of_type.items()]
        hint = f"; nearest: {one_of(near[:_NAMED])}" if near else ""
        raise LookupError(f"{gpus} x {gpu_type}, and no node type has so many{hint}")
    rented = [f"rented of {server.cloud} perhaps, and not owned"] if server.cloud else []
    for name, node in fit.items():
        # `DGXH100-920-23687` is a DGX H100, and no XE9680L an XE9680.
        machine, sold = (_LETTERS.sub("", n.casefold()) for n in (server.machine, node.product))
        rest = machine.removeprefix("nvidia").removeprefix(sold)
        if machine.removeprefix("nvidia").startswith(sold) and not rest[:1].isalpha():
            return name, "".join(rented)
    first, *others = fit
    reported = f" in {server.machine[:_LONGEST]!r}" if server.machine else ""
    told = f"known by its {gpus} x {gpu_type}{reported} alone"
    told += f"; perhaps {one_of(others[:_NAMED])}" if others else ""
    return first, "; ".join((told, *rented))


_MARKS = re.compile(r"[^a-z0-9.]+")
_MAKERS = re.compile(r"^(nvidia|amd|tesla)-")


class _ProductNames(Frozen):
    gpus: dict[str, tuple[str, ...]]
    """By GPU type."""


def plain_name(product: str) -> str:
    """A product's name without its maker, in small letters with dashes between its words."""
    return _MAKERS.sub("", _MARKS.sub("-", product.casefold()).strip("-"))


@cache
def gpu_types_by_name() -> dict[str, str]:
    """GPU types by the plain names of their products."""
    name = f"catalog/{PRODUCT_NAMES}"
    read = read_document(shipped("catalog") / PRODUCT_NAMES, shown_as=name)
    return {
        plain_name(product): gpu_type
        for gpu_type, products in validate(read, _ProductNames).gpus.items()
        for product in products
    }


_ROOT = "nvidia_smi_log"
_PROGRAM, _BEGINNING = b"NVIDIA-SMI", 400
_STARTS = (b"<", b"\xff\xfe<", b"\xfe\xff\0<")


def is_report(content: bytes) -> bool:
    """Whether this is XML, as it should be, or what nvidia-smi prints else."""
    xml = content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(_STARTS)
    return xml or _PROGRAM in content[:_BEGINNING]


def server_of(content: bytes, name: str, shown_as: str) -> tuple[Server, frozenset[str]]:
    """A server and the UUIDs of its GPUs; raises InputError for what is no such report.

    nvidia-smi names the file of its document type, which is never opened; one that declares
    entities itself is refused.
    """
    line = None
    gpus: list[ElementTree.Element] = []
    if b"!ENTITY" in content.replace(b"\0", b""):
        fault = "declares a document type of its own, which is not read"
    else:
        try:
            root = ElementTree.fromstring(content)
            gpus = root.findall("gpu") if root.tag == _ROOT else []
            other = f"is XML of another kind: <{root.tag[:40]}>"
            fault = "has no GPU" if root.tag == _ROOT else other
        except ElementTree.ParseError as error:
            fault, (line, _) = f"is no XML: {expat.errors.messages[error.code]}", error.position
    if not gpus:
        hint = "write one file for each server: `nvidia-smi -q -x > SERVER.xml`"
        raise InputError(Finding(fault, file=shown_as, line=line, hint=hint))
    products, uuids = (
        [(gpu.findtext(key) or "").strip() for gpu in gpus] for key in ("product_name", "uuid")
    )
    return Server(name, tuple(sorted(Counter(products).items()))), frozenset(filter(None, uuids))


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
    first = items[0] if items else {"kind": "Node"}
    return data["kind"] == "NodeList" or (isinstance(first, dict) and first.get("kind") == "Node")


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
            if gpus := tuple(_gpus_of_node(node, resources)):
                machine = node.metadata.labels.get(_MACHINE, "")
                cloud = _CLOUDS.get(node.spec.provider_id.partition(":")[0], "")
                servers.append(Server(node.metadata.name, gpus, machine, cloud))
        except ValueError as error:
            findings.append(Finding(str(error), file=shown_as, path=f"items[{place}]"))
    if not findings and not servers:
        message = f"has no node with GPUs, of {len(nodes)}" if nodes else "lists nothing"
        hint = "`kubectl get nodes -o json` of whom may see all nodes, with their device plugins"
        findings.append(Finding(message, file=shown_as, hint=hint))
    refuse(findings)
    return tuple(servers)


def _gpus_of_node(node: _Node, resources: Collection[str]) -> Iterator[tuple[str, int]]:
    """Products and how many; raises ValueError for a quantity that is no whole number."""
    labels, capacity = node.metadata.labels, node.status.capacity
    product = labels.get(_PRODUCT, "")
    if _COUNT in labels:  # of GPUs, or of partitions; where GPUs are shared, capacity counts parts
        nvidia = _quantity(labels[_COUNT], _COUNT, node)
    else:
        parts = _quantity(capacity.get(_NVIDIA, "0"), _NVIDIA, node)
        nvidia = parts // max(1, _quantity(labels.get(_REPLICAS, "1"), _REPLICAS, node))
    if nvidia:
        yield product, nvidia
    amd = next((labels[name] for name in _AMD_PRODUCTS if name in labels), "")
    for resource in sorted(set(resources) - {_NVIDIA}):
        if count := _quantity(capacity.get(resource, "0"), resource, node):
            yield amd if resource.startswith("amd.") else resource, count


def _quantity(quantity: str, name: str, node: _Node) -> int:
    if not quantity.isascii() or not quantity.isdecimal() or len(quantity) > 9:
        raise ValueError(f"{node.metadata.name}: {quantity[:20]!r} of {name} is no number of GPUs")
    return int(quantity)
