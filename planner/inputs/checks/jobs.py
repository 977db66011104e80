"""Checks of a single job against itself and its model, and of units that are said to run today."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil, inf, isqrt, sqrt
from typing import Any, Final

from planner.inputs.base import NotKnown
from planner.inputs.catalog.catalog import Catalog, Model
from planner.inputs.checks.faults import Fault, Whole, entries, known, unknown_reference
from planner.inputs.reading.document import Path
from planner.inputs.scenario.job import Job, Serve, Tune
from planner.inputs.scenario.load import LengthPercentiles
from planner.inputs.scenario.scenario import (
    NodePlace,
    ResolvedScenario,
    Running,
    fleet_by_pool,
    node_places,
    plain,
    pool_places,
)
from planner.inputs.text import count_of, did_you_mean, one_of

_ADAPTERS: Final = ("rank", "targets", "precision", "dropout", "dora", "units")
_GOES_WITH: Final[dict[str, dict[str, tuple[object, ...]]]] = {
    **{f"adapter_{key}": {"method": ("lora", "qlora")} for key in _ADAPTERS},
    "embeddings_trained": {"method": ("lora", "qlora")},
    "double_quantization": {"method": ("qlora",), "base_bits": (4, None)},
    "reference_model": {"method": ("full",), "objective": ("dpo", "grpo", "ppo")},
    "rollout_share": {"objective": ("grpo", "ppo")},
    "rollout_tokens": {"objective": ("grpo", "ppo")},
    "reward_parameters_b": {"objective": ("ppo",)},
    "value_parameters_b": {"objective": ("ppo",)},
    "optimizer_in_backward": {"method": ("full",), "gradient_accumulation": (1,)},
    "parallelism": {"sharding": ("ddp", "zero-1", "zero-2", "zero-3", "fsdp", "fsdp2", "megatron")},
    "sync_each_batch": {"sharding": ("fsdp", "fsdp2")},
    "loading": {"sharding": ("fsdp", "fsdp2", "zero-3")},
}
"""Keys of a tuning job that only have a meaning together with some values of others."""
_OFF: Final = (None, False, "sharded")
"""Values that mean the same as leaving such a key out."""
_WIDEST_BYTES = 4
"""Bytes of one parameter in fp32."""
_Check = Callable[[Any, Catalog], Iterator[Fault]]


def contradictions(job: Job, catalog: Catalog) -> Iterator[Fault]:
    """Find all contradictions of a job, each with its path; an unknown model is passed over."""
    for section, checks in (("tune", _OF_TUNE), ("serve", _OF_SERVE)):
        with suppress(NotKnown):
            if about := getattr(job, section):
                found = known(*(check(about, catalog) for check in checks))
                yield from (one.below(section) for one in found)
    yield from known(_too_slow(job))


def _model(about: Tune | Serve, catalog: Catalog) -> Model | None:
    return catalog.models.get(about.model or "")


def _parameters_b(about: Tune | Serve, catalog: Catalog) -> Decimal | None:
    model = _model(about, catalog)
    return about.parameters_b if model is None else model.parameters_b


def _too_long(about: Tune | Serve, catalog: Catalog) -> Iterator[Fault]:
    """Find more tokens than the model takes, or than any model does if it is not known."""
    key, tokens = (
        ("sequence", about.sequence) if isinstance(about, Tune) else ("context", about.context)
    )
    model = _model(about, catalog)
    if tokens is None or (model is None and about.model is not None):
        return
    if model is not None:
        longest, who = model.longest_context, f"{about.model} takes"
    else:
        longest = max((one.longest_context for one in catalog.models.values()), default=0)
        who = "any model of the catalog takes"
    if tokens > longest:
        yield Fault((key,), f"{tokens:,} tokens are more than {who} ({longest:,})")


def _request_too_long(serve: Serve, catalog: Catalog) -> Iterator[Fault]:
    """Find a request or an answer longer than `context` allows, or than the model takes."""
    model, load = _model(serve, catalog), serve.load
    if load is None:
        return
    if serve.context is not None:
        longest, who, remedy = serve.context, "`context` allows", "raise `context`, or leave it out"
    elif model is not None:
        longest, who, remedy = model.longest_context, f"{serve.model} takes", None
    else:
        return
    more = f"tokens are more than {who} ({longest:,})"
    for key in ("input_percentiles", "output_percentiles"):
        lengths: LengthPercentiles | None = getattr(load, key)
        if lengths is not None and lengths.longest > longest:
            last = [*lengths.stated][-1]
            yield Fault(("load", key, last), f"{lengths.longest:,} {more}", remedy)
    if load.input_tokens + load.output_tokens > longest:
        message = (
            f"a request of {load.input_tokens:,} and an answer of {load.output_tokens:,} {more}"
        )
        longer = max("input_tokens", "output_tokens", key=lambda key: getattr(load, key))
        yield Fault(("load", longer), message, remedy)


def _traffic(serve: Serve, catalog: Catalog) -> Iterator[Fault]:
    """Find a day of less than one request, and request lengths that contradict their mean."""
    load = serve.load
    if load is None:
        return
    tokens, each = load.tokens_per_day, load.input_tokens + load.output_tokens
    most = max(tokens.values()) if isinstance(tokens, dict) else tokens
    if most is not None and 0 < most < each:
        yield Fault(
            ("load", "tokens_per_day"),
            f"{most:,f} tokens a day are less than one request of {each:,}",
            "count all tokens of a day, one by one",
        )
    model, usual = _model(serve, catalog), load.input_tokens
    longest = serve.context or (None if model is None else model.longest_context)
    if (
        longest is not None and longest > usual and load.input_cv**2 * usual > longest - usual
    ):  # the widest have two lengths
        widest = sqrt((longest - usual) / usual)
        yield Fault(
            ("load", "input_cv"),
            f"requests of {usual:,} tokens on average, and of {longest:,} at most, vary by "
            f"{widest:,.1f} at most",
            "state mean and variation of the same requests: standard deviation over mean",
        )
    for key, mean in (
        ("input_percentiles", load.input_tokens),
        ("output_percentiles", load.output_tokens),
    ):
        lengths: LengthPercentiles | None = getattr(load, key)
        stated = [] if lengths is None else [*lengths.stated.values()]
        if lengths is not None and stated and stated == sorted(stated):
            yield from _of_another_mean(lengths, ("load", key), mean, longest)


def _of_another_mean(
    lengths: LengthPercentiles, path: Path, mean: int, longest: int | None
) -> Iterator[Fault]:
    """Find percentiles that no requests of this mean can have, each of at most `longest` tokens."""
    percents = [int(name[1:]) for name in lengths.stated]
    tokens = [*lengths.stated.values()]
    parts = [above - percent for percent, above in pairwise((0, *percents, 100))]
    least = _mean(parts, (0, *tokens))
    most = inf if longest is None else ceil(_mean(parts, (*tokens, longest)))
    hint = "state mean and percentiles of the same requests"
    if int(least) > mean:
        message = f"such lengths have a mean of at least {int(least):,} tokens, not {mean:,}"
        yield Fault(path, message, hint)
    elif most < mean:
        message = f"such lengths have a mean of at most {most:,} tokens, not {mean:,}"
        yield Fault(path, f"{message}, if the longest has {longest:,}", hint)


def _mean(parts: Sequence[int], tokens: Sequence[int]) -> Fraction:
    """Return the mean of requests of which so many of a hundred have so many tokens."""
    return Fraction(sum(part * each for part, each in zip(parts, tokens, strict=True)), 100)


def _rank(tune: Tune, catalog: Catalog) -> Iterator[Fault]:
    """Find a rank that no matrix of the model has, by its width or by all of its parameters."""
    rank, model = tune.adapter_rank, _model(tune, catalog)
    if rank is None or tune.method not in ("lora", "qlora"):
        return
    most, what = None, ""
    if model is not None:
        most, what = model.hidden, f"{tune.model} is wide"
    elif tune.parameters_b is not None:
        most = isqrt(int(tune.parameters_b * 10**9))
        what = f"any matrix of {tune.parameters_b:f} billion parameters can have"
    if most is not None and rank > most:
        message = f"a rank of {rank:,} is more than {what} ({most:,})"
        yield Fault(("adapter_rank",), message, "a rank is a small part of the width")


def _data(tune: Tune, _: Catalog) -> Iterator[Fault]:
    tokens, sequence = tune.dataset_tokens, tune.sequence
    if tune.packing and tokens is not None and sequence is not None and tokens < sequence:
        yield Fault(
            ("dataset_tokens",),
            f"{tokens:,f} tokens do not make one sequence of {sequence:,}",
            "count all tokens of the data set, one by one, or state `packing: false`",
        )


def _adapter(about: Tune | Serve, catalog: Catalog) -> Iterator[Fault]:
    """Find an adapter that is larger than all of its base at 32 bit."""
    path, size_gb = ("deploy", "adapter_gb"), None
    if isinstance(about, Serve):
        path, size_gb = ("adapters", "size_gb"), about.adapters and about.adapters.size_gb
    elif about.deploy is not None:
        size_gb = about.deploy.adapter_gb
    parameters_b = _parameters_b(about, catalog)
    if size_gb and parameters_b is not None and size_gb > parameters_b * _WIDEST_BYTES:
        yield Fault(
            path,
            f"an adapter of {size_gb:f} GB is larger than its base, {parameters_b:.4g} billion "
            f"parameters, which at 32 bit are {parameters_b * _WIDEST_BYTES:.4g} GB",
            f"write {(size_gb / 1000).normalize():f}, where that is in MB: the key takes GB",
        )


def _draft(serve: Serve, catalog: Catalog) -> Iterator[Fault]:
    """Find a draft model that is no smaller than the model which verifies it."""
    speculative, parameters_b = serve.speculative, _parameters_b(serve, catalog)
    if speculative is None or parameters_b is None:
        return
    draft = catalog.models.get(speculative.draft_model or "")
    if draft is not None and draft.encoder:
        message = f"{speculative.draft_model} is an encoder, which proposes no tokens"
        yield Fault(
            ("speculative", "draft_model"), message, "take a smaller model of the same family"
        )
    elif draft is not None and draft.parameters_b >= parameters_b:
        yield Fault(
            ("speculative", "draft_model"),
            f"{speculative.draft_model} proposes tokens and has {draft.parameters_b:.4g} billion "
            f"parameters, no fewer than the model that verifies them ({parameters_b:.4g})",
            "take a smaller model of the same family",
        )
    elif speculative.draft_gb is not None and speculative.draft_gb >= parameters_b * _WIDEST_BYTES:
        yield Fault(
            ("speculative", "draft_gb"),
            f"a draft of {speculative.draft_gb:f} GB is no smaller than the model that verifies "
            f"it, {parameters_b:.4g} billion parameters",
            f"write {(speculative.draft_gb / 1000).normalize():f}, where that is in MB: the key "
            "takes GB",
        )


def _decoding(serve: Serve, catalog: Catalog) -> Iterator[Fault]:
    """Find settings of answers or images for a model, or a load, that has none."""
    model, load = _model(serve, catalog), serve.load
    known_model = model is not None or serve.model is None
    sees = model is not None and model.tower_parameters_b is not None
    if load is not None and load.image_tokens and known_model and not sees:
        yield Fault(
            ("load", "image_tokens"),
            f"nothing is known of a tower of {serve.model or 'a bare size'} that reads images",
            "leave it out: `input_tokens` holds what images become",
        )
    if model is not None and model.encoder and load is not None and load.output_tokens:
        yield Fault(
            ("load", "output_tokens"),
            f"{serve.model} is an encoder and writes no text",
            "write 0: its answer is a vector or a score",
        )
    if model is not None and model.encoder:
        for path, stated in (
            (("kv_bits",), "kv_bits" in serve.model_fields_set),
            (("load", "cached_input"), load is not None and load.cached_input),
        ):
            if stated:
                message = f"{serve.model} is an encoder, which keeps no cache"
                yield Fault(path, message, "leave it out")
    if (model is not None and model.encoder) or (load is not None and not load.output_tokens):
        for key in ("speculative", "disaggregated"):
            if getattr(serve, key) is not None:
                yield Fault((key,), "speeds up answers, and there are none", "leave it out")
        if serve.latency is not None and serve.latency.tpot_ms is not None:
            message = "is the time per token of an answer, and there is none"
            yield Fault(("latency", "tpot_ms"), message, "ask for `e2e_ms`")


def _rollouts(tune: Tune, _: Catalog) -> Iterator[Fault]:
    """Find answers that are longer than the sequence which holds prompt and answer."""
    answer, sequence = tune.rollout_tokens, tune.sequence
    if answer is not None and sequence is not None and answer > sequence:
        message = (
            f"{answer:,} tokens are more than `sequence` holds, prompt and answer ({sequence:,})"
        )
        yield Fault(("rollout_tokens",), message, f"write {sequence}, or fewer")


def _too_slow(job: Job) -> Iterator[Fault]:
    """Find a run that is stated to take longer than it may."""
    hours = None if job.run is None else job.run.hours
    allowed = None if job.tune is None else job.tune.deadline_hours
    if hours is not None and allowed is not None and hours > allowed:
        message = f"{hours:f} hours are more than `tune.deadline_hours` allows ({allowed:f})"
        yield Fault(("run", "hours"), message)


def _generating(tune: Tune, catalog: Catalog) -> Iterator[Fault]:
    model = _model(tune, catalog)
    if model is not None and model.encoder and tune.objective != "sft":
        message = f"learns from answers, and {tune.model} is an encoder that writes none"
        yield Fault(("objective",), message, "leave it out")


def out_of_place(tune: Tune, _: Catalog) -> Iterator[Fault]:
    """Find keys of a tuning job that mean nothing beside what else it states."""
    for key, needed in _GOES_WITH.items():
        with suppress(NotKnown):
            if key not in tune.model_fields_set or getattr(tune, key) in _OFF:
                continue
            for other, values in needed.items():
                if getattr(tune, other) not in values:
                    meant = one_of([f"`{other}: {value}`" for value in values if value is not None])
                    message = f"goes with {meant}, not with `{getattr(tune, other)}`"
                    yield Fault((key,), message, "leave it out")
                    break


def _parallelism(tune: Tune, catalog: Catalog) -> Iterator[Fault]:
    """Find a split of something the model does not have, or that leaves GPUs with nothing."""
    parallelism, model = tune.parallelism, _model(tune, catalog)
    if parallelism is None:
        return
    if parallelism.virtual_pipeline > 1 and parallelism.pipeline == 1:
        message = "cuts the stages of a pipeline, and there is none"
        yield Fault(("parallelism", "virtual_pipeline"), message, "leave it out")
    if model is None:
        return
    split, experts = parallelism.tensor, model.experts or 1
    for key, ways, parts, what, fits in (
        ("tensor", split, model.heads, "attention heads", model.heads % split == 0),
        (
            *("tensor", split, model.kv_heads, "KV heads"),
            model.kv_heads % split == 0 or split % model.kv_heads == 0,
        ),
        (
            *("pipeline", parallelism.pipeline, model.layers, "layers"),
            parallelism.pipeline * parallelism.virtual_pipeline <= model.layers,
        ),
        (
            *("expert", parallelism.expert, experts, "routed experts"),
            experts % parallelism.expert == 0,
        ),
    ):
        if not fits:
            message = f"{ways} GPUs cannot share {parts} {what} of {tune.model} evenly"
            if key == "expert" and model.experts is None:
                message = f"{tune.model} has no routed experts to share"
                yield Fault(("parallelism", key), message, "leave it out")
                return
            yield Fault(("parallelism", key), message)
            return


def _deploy(tune: Tune, catalog: Catalog) -> Iterator[Fault]:
    """Find what a deployment of its model cannot have."""
    if tune.deploy is None:
        return
    if tune.deploy.bits is not None and tune.method != "full":
        yield Fault(
            ("deploy", "bits"),
            f"the method {tune.method} keeps the weight width of its base",
            "leave it out; only a full fine-tune is deployed at another width",
        )
    if tune.deploy.adapter_gb is not None and tune.method == "full":
        yield Fault(("deploy", "adapter_gb"), "a full fine-tune has no adapter", "leave it out")
    else:
        yield from _adapter(tune, catalog)


def _wider(serve: Serve, catalog: Catalog) -> Iterator[Fault]:
    model = _model(serve, catalog)
    published = None if model is None else model.native_bits
    widest = serve.bits if isinstance(serve.bits, int) else max(serve.bits)
    if published is not None and "bits" in serve.model_fields_set and widest > published:
        yield Fault(
            ("bits",),
            f"{serve.model} is published at {published} bit, so {widest} bit would only "
            "take more memory",
            "leave `bits` out" if isinstance(serve.bits, int) else f"leave {widest} out",
        )


_OF_TUNE: tuple[_Check, ...] = (
    *(_too_long, out_of_place, _rank, _data, _parallelism, _deploy, _generating, _rollouts),
)
_OF_SERVE: tuple[_Check, ...] = (
    *(_too_long, _request_too_long, _traffic, _wider, _adapter, _draft, _decoding),
)


_LISTED = 8


@dataclass
class _Today:
    """What the entries so far say, and the places that they may name."""

    scenario: ResolvedScenario
    units: Counter[str] = field(default_factory=Counter)
    gpus: Counter[NodePlace] = field(default_factory=Counter)

    @cached_property
    def nodes(self) -> dict[str, NodePlace]:
        return node_places(self.scenario)

    @cached_property
    def pools(self) -> dict[str, NodePlace]:
        return pool_places(self.scenario)


def running(whole: Whole) -> Iterator[Fault]:
    """Find what the entries say that cannot be, in order."""
    today = _Today(whole.scenario)
    for position, entry in enumerate(whole.scenario.running):
        path = ("running", position)
        yield from known(_of_job(today, path, entry), _at_places(today, whole.catalog, path, entry))


def _of_job(today: _Today, path: Path, entry: Running) -> Iterator[Fault]:
    job = today.scenario.jobs.get(entry.job)
    if job is None:
        yield Fault((*path, "job"), *unknown_reference("job", entry.job, today.scenario.jobs, None))
        return
    today.units[entry.job] += entry.count
    with suppress(NotKnown):
        if job.load:
            yield Fault(
                (*path, "job"),
                f"{entry.job!r} states a load: its replicas follow from the GPU type and cannot be "
                "told apart",
                "state `replicas` in place of `load`, or leave the entry out",
            )
    horizon, units = today.scenario.horizon, today.units[entry.job]
    if (asked := job.units(horizon)[0]) < units:
        yield Fault(
            (*path, "count" if entry.count > 1 else "job"),
            f"{count_of(units, 'unit')} of {entry.job!r} {'is' if units == 1 else 'are'} listed, "
            f"the job has {count_of(asked, 'unit')} in {horizon.first_quarter}",
            f"list those that go on in {horizon.first_quarter}, or raise its count",
        )


def _at_places(today: _Today, catalog: Catalog, path: Path, entry: Running) -> Iterator[Fault]:
    scenario = today.scenario
    job = scenario.jobs.get(entry.job)
    if job is None:
        return
    places = list(_places(entry, today.nodes, today.pools))
    found = [place for _, _, place in places if place]
    unlike = len({place.pool for place in found}) > 1
    if unlike:
        message = "are of different types or sites, one unit spans alike ones"
        yield Fault((*path, "node"), message)
    elif unlike := len(set(found)) < len(found):
        yield Fault((*path, "node"), "names a node twice")
    for key, name, place in places:
        if place is None:
            if _all_stand(scenario, catalog):
                yield _unknown(scenario, (*path, *key), name, today.pools)
            continue
        first = today.units[entry.job] - entry.count + 1
        yield from _kept_off(scenario, catalog, (*path, *key), entry, first, place)
        if place.numbers and not (unlike or _may_share(scenario, entry, job)):
            node = catalog.nodes.get(place.node_type)
            each = entry.gpus or (job.fixed.gpus if job.fixed else None) or 1
            each = node.gpus.value if node and len(entry.nodes) > 1 else each
            today.gpus[place] += entry.count * each
            if node and today.gpus[place] > node.gpus.value:
                message = f"{name} has {node.gpus.value} GPUs, what is listed to run on it holds "
                message += str(today.gpus[place])
                hint = "name the node of each unit as it is today"
                yield Fault((*path, *key), message, hint)


def _all_stand(scenario: ResolvedScenario, catalog: Catalog) -> bool:
    """Return whether all nodes have known types and sites.

    Only then an unknown name is surely wrong.
    """
    sites = scenario.sites.keys()
    return all(
        entry.node_type in catalog.nodes and (not sites or sites >= set(entry.sites))
        for _, entry in entries(scenario)
    )


def not_staying(scenario: ResolvedScenario, catalog: Catalog) -> Iterator[Fault]:
    """Find units that are pinned where they may not stay, in a placement known to be valid."""
    nodes, pools = node_places(scenario), pool_places(scenario)
    units: Counter[str] = Counter()
    for position, entry in enumerate(scenario.running):
        first = units[entry.job] + 1
        units[entry.job] += entry.count
        for key, _, place in _places(entry, nodes, pools):
            if place is not None:
                at = ("running", position, *key)
                yield from _kept_off(scenario, catalog, at, entry, first, place)


def _places(
    entry: Running, nodes: dict[str, NodePlace], pools: dict[str, NodePlace]
) -> Iterator[tuple[Path, str, NodePlace | None]]:
    """Yield where in the entry a place is named, the name, and the place if there is one."""
    if entry.pool is not None:
        yield ("pool",), entry.pool, pools.get(entry.pool)
    for position, name in enumerate(entry.nodes):
        at = ("node",) if isinstance(entry.node, str) else ("node", position)
        yield at, name, nodes.get(plain(name))


def _unknown(
    scenario: ResolvedScenario, path: Path, name: str, pools: dict[str, NodePlace]
) -> Fault:
    if path[-1] == "pool":
        hint = did_you_mean(name, pools) or f"known: {', '.join(list(pools)[:_LISTED])}"
        return Fault(path, f"no nodes of {name!r} are owned or offered", hint)
    pool = name.rpartition("/")[0]
    for (node_type, site), owned in fleet_by_pool(scenario).items():
        if pool == f"{node_type}/{site}":
            last = f"{pool}/{len(owned):02d}"
            there = last if len(owned) == 1 else f"{pool}/01 to {last}"
            return Fault(path, f"no node {name!r} is owned", f"owned there: {there}")
    known = [f"{node_type}/{site}/01" for node_type, site in fleet_by_pool(scenario)]
    hint = did_you_mean(name, known) or "a node is named by type, site and number: " + (
        ", ".join(known[:_LISTED]) or "none is owned here"
    )
    return Fault(path, f"no node {name!r} is owned", hint)


def _kept_off(
    scenario: ResolvedScenario,
    catalog: Catalog,
    path: Path,
    entry: Running,
    unit: int,
    place: NodePlace,
) -> Iterator[Fault]:
    """Say what keeps pinned units from staying.

    `unit` is the lowest of the entry, the last to end.
    """
    job = scenario.jobs[entry.job]
    if entry.pinned or job.pinned:
        yield from _retired(scenario, path, entry, unit, place)
        sites = scenario.sites_of(job)
        if sites and place.site not in sites:
            yield Fault(
                path,
                f"{entry.job!r} is pinned at {place.site!r}, but may run only at "
                f"{', '.join(sites)}",
                f"{_unpinned(entry, job)}, or allow the site",
            )
        node = catalog.nodes.get(place.node_type)
        policies = scenario.policies
        for allowed in (job.gpu_types, policies.allowed_gpu_types):
            if node and allowed and node.gpu_type not in allowed:
                yield Fault(
                    path,
                    f"{entry.job!r} is pinned on {node.gpu_type}, but may use only "
                    f"{', '.join(allowed)}",
                    f"{_unpinned(entry, job)}, or allow the GPU type",
                )
        if node and node.gpu_type in policies.excluded_gpu_types:
            message = f"{entry.job!r} is pinned on {node.gpu_type}, which policies exclude"
            yield Fault(path, message, f"{_unpinned(entry, job)}, or allow the GPU type")


def _retired(
    scenario: ResolvedScenario, path: Path, entry: Running, unit: int, place: NodePlace
) -> Iterator[Fault]:
    """Find pinned units on a node that leaves service, unless they may be short and stop with it.

    Nodes that left before the horizon have no number, so nothing can be listed on them.
    """
    if not place.numbers:
        return
    job, horizon = scenario.jobs[entry.job], scenario.horizon
    _, owned = fleet_by_pool(scenario)[place.node_type, place.site][place.numbers[0] - 1]
    units = zip(horizon.all_quarters, job.units(horizon), strict=True)
    active = [quarter for quarter, number in units if number >= unit]
    first = horizon.first_quarter
    stops = owned.retires is not None and active and first < owned.retires <= active[-1]
    if stops and job.droppable is None:
        yield Fault(
            path,
            f"{place.pool}/{place.numbers[0]:02d} retires in {owned.retires}, but {entry.job!r} "
            f"is pinned to it and runs until {active[-1]}",
            f"{_unpinned(entry, job)}, or end it before",
        )


def _unpinned(entry: Running, job: Job) -> str:
    """Say what to write so that the units of an entry may move: a job may pin all of them."""
    where = f" of `jobs.{entry.job}`" if job.pinned else ""
    return f"let it move (`pinned: false`{where})"


def _may_share(scenario: ResolvedScenario, entry: Running, job: Job) -> bool:
    """Return whether others may hold its units' GPUs as well: in other parts, or at other hours."""
    policies = scenario.policies
    if job.serve is not None:
        in_parts = policies.shared_gpus or policies.mig != "never"
        return in_parts and not job.serve.whole_gpu and entry.gpus in (None, 1)
    return job.tune is not None or job.run is not None


def nothing_to_keep(whole: Whole) -> Iterator[Fault]:
    """Find a pinned job that is missing from the list of what runs today."""
    listed = {entry.job for entry in whole.scenario.running}
    for name, job in whole.scenario.jobs.items():
        with suppress(NotKnown):
            if listed and name not in listed <= whole.scenario.jobs.keys() and job.pinned:
                message = "no entry of `running` says where it runs today"
                hint = "add one, or leave `pinned` out"
                yield Fault(("jobs", name, "pinned"), message, hint)
