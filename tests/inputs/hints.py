"""Follows what a hint says to write: to the letter, on the data of the file that it is told of."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import yaml


class Place(NamedTuple):
    """Where a finding points, in the data of its file."""

    data: Any
    finding: Any

    @property
    def keys(self):
        parts = re.findall(r"'([^']*)'|\[(\d+)\]|([^.\[\]']+)", self.finding.path or "")
        keys: list[Any] = [int(at) if at else quoted or plain for quoted, at, plain in parts]
        if str(keys[-1]).endswith("…"):  # shown in part
            data = self.data
            for key in keys[:-1]:
                data = data[key]
            keys[-1] = next(key for key in data if key.startswith(keys[-1][:-1]))
        return keys

    @property
    def around(self):
        data = self.data
        for key in self.keys[:-1]:
            data = data[key]
        return data

    @property
    def last(self):
        return self.keys[-1]

    @property
    def unknown(self):
        """The name that the message quotes."""
        return self.finding.message.partition("'")[2].partition("'")[0]

    def write(self, text):
        self.around[self.last] = yaml.safe_load(text)

    def write_one(self, *texts):
        self.write(next(filter(None, texts)))

    def part(self, key, text):
        """A key and its value that were written as one word."""
        self.leave_out()
        self.around[key] = yaml.safe_load(text)

    def leave_out(self):
        del self.around[self.last]

    def leave_unknown_key_out(self):
        if self.finding.message.startswith("unknown key"):
            self.leave_out()
        else:  # a path of an override: one that is known in its place
            self.around["horizon.quarters"] = self.around.pop(self.last)

    def keep_one(self):
        """Of keys that stand twice, reading them as plain YAML has kept the last."""
        if "stands twice" not in self.finding.message:
            self.leave_out()

    def replace_rule(self, name, rule_id):
        """A setting by its name, under the id of the rule that sets it."""
        self.name(name)
        rules = self.data["rules"]
        rules[rule_id] = rules.pop(self.keys[1])

    def leave_entry_out(self):
        """The whole offer, fleet entry or item that the place is in."""
        section, entry, *_ = self.keys
        del self.data[section][entry]

    def name(self, name):
        """Put a name where one is not known: for a value, an item or a key, or within a path."""
        around, last = self.around, self.last
        if not self.unknown or around[last] == self.unknown:
            around[last] = name
        else:
            key = str(last).replace(self.unknown, name)
            assert key not in around, "would stand twice"
            around[key] = around.pop(last)

    def rename(self):
        self.around["another name"] = self.around.pop(self.last)

    def rename_job(self):
        jobs = self.data["jobs"]
        jobs["another name"] = jobs.pop(self.keys[1])

    def write_alike(self):
        """Wherever the name stands, the one that the message holds it against."""
        _, name, _, other, _ = self.finding.message.split("'")
        self.data.update(yaml.safe_load(yaml.safe_dump(self.data).replace(name, other)))

    def as_text(self, text):
        """Write a key that is no text in quotes."""
        around = self.data["jobs"]
        (key,) = (key for key in around if not isinstance(key, str))
        around[yaml.safe_load(text)] = around.pop(key)

    def let_move(self):
        self.around["pinned"] = False

    def delete(self, path):
        section, entry = path.split(".")
        del self.data[section][entry]

    def among_plain_changes(self):
        _, override, verb, _ = self.keys
        self.data["overrides"][override] = self.data["overrides"][override][verb]

    def with_source(self, value, text):
        self.write(value)
        self.add(text)

    def move_to(self, place):
        value, data = self.around.pop(self.last), self.data
        for key in place.split(".") if place else ():
            data = data.setdefault(key, {})
        data[self.last] = value

    def state(self, key):
        here = self.around[self.last]
        (here if isinstance(here, dict) else self.around)[key] = FIGURES[key]

    def state_instead(self, key):
        self.leave_out()
        self.around[key] = FIGURES[key]

    def state_beside(self, key, value):
        self.around[key] = value

    def price(self, quarter):
        self.around[self.last][quarter] = FIGURES["price_usd"]

    def state_site(self, site):
        self.around[self.last]["site"] = site

    def state_the_same(self, other):
        section, entry = other.split(".")
        self.data[section][entry][self.last] = self.around[self.last]

    def add(self, text):
        """Text of its own for the top of the file."""
        self.data.update(yaml.safe_load(text.replace("…", "Data sheet")))


FIGURES = {
    "max_power_kw": 10.5,
    "mean_power_kw": 2.5,
    "rack_units": 6,
    "network_ports": 9,
    "cooling": "liquid",
    "price_usd": 90000,
    "price_usd_per_gpu_hour": 3.5,
}
"""What a user fills in."""

TO_FOLLOW: dict[str, Callable[..., None]] = {
    r"write `(\w+): (.*)`, with a colon and a blank": Place.part,
    r"did you mean '(\w+)'\? It is set by (\S+): replace that rule by its id": Place.replace_rule,
    r"did you mean '([^']+)'.*": Place.name,
    r"here that is `(\w+)`.*": Place.name,
    r"(?:known|in play): ([^,]+).*": Place.name,
    r"write one of ([^,]+).*": Place.name,
    r"one of ([^,]+).*": Place.write,
    r"one stands here, such as (?:'(.+)'|([\w-]+))": Place.write_one,
    r"(?:known here|nothing here is like it): .*": Place.leave_unknown_key_out,
    r"(?:leave it out|delete it|(?:write a value or )?delete the line).*": Place.leave_out,
    r"leave the (?:offer|entry|job) out.*": Place.leave_entry_out,
    r"state `replicas` in place of `load`, or leave the entry out": Place.leave_entry_out,
    r"where there is none, leave `(.+)` out; .*": Place.delete,
    r"keep one of them": Place.keep_one,
    r"name it once": Place.leave_out,
    r"give one of them another name": Place.rename,
    r"rename one of the two jobs": Place.rename_job,
    r"write both alike, or .*": Place.write_alike,
    r"`\w+` belongs at the top of the file()": Place.move_to,
    r"`\w+` belongs under `([\w.-]+)`.*": Place.move_to,
    r"state it here, beside `node_type`: `(\w+): .*": Place.state,
    r"state (?:its )?`(\w+)` ?(?:here|too).*": Place.state,
    r"state `(\w+)` in its place": Place.state_instead,
    r"write `(quarters): (\w+)` beside it, or .*": Place.state_beside,
    r"state a price for (\w+) as well": Place.price,
    r"state `site: (.+)`": Place.state_site,
    r"state `site`: one of ([^,]+).*": Place.state_site,
    r"state the same at (\S+), or .*": Place.state_the_same,
    r"write `(format: .+)`": Place.add,
    r"let one carry it: `(sites: .+)`": Place.add,
    r"list it in this file: `(sources: .+)`": Place.add,
    r"a share is written (\S+) or .*": Place.write,
    r"write it without .*: (.+)": Place.write,
    r"write (true|false), without quotes": Place.write,
    r"write (\d{4}Q[1-4])": Place.write,
    r"write ([\d.]+)(?: alone)?, .*": Place.write,
    r"memory is in GB of 10\^9 bytes: .* is (.+)": Place.write,
    r"put it in quotes: (.+)": Place.write,
    r"write (\{.+\}), and list the source .*: `(sources: .+)`": Place.with_source,
    r"write `?(\[.+\]|\{(?:model: [\w-]+)?\}|[\d.]+|refuse)`?(?:,| for| alone)?.*": Place.write,
    r"write ('~'|'7'|'true')": Place.as_text,
    r"owned there: (\S+) .*": Place.write,
    r"let it move \(`pinned: false`\), .*": Place.let_move,
    r"set it among the plain changes": Place.among_plain_changes,
}
"""What a hint says, and how that is done to the data of the file."""

IN_TEXT = {
    r"use spaces": lambda text: text.expandtabs(4),
    r"delete the tag": lambda text: re.sub(r"!!\S+ ", "", text),
    r"delete this sign": lambda text: text.replace("}}", "}"),
    r"part entries with commas": lambda text: text.replace("8b m", "8b, m"),
    r"write a quote within it twice, or .*": lambda text: text.replace("b's", "b''s"),
    r"delete the character": lambda text: re.sub("[\u202e\u200b]", "", text),
}
"""What a hint says of a file that cannot be read, and how that is done to its text."""

BY_THE_WRITER = (
    r"write the values out.*|fill the template in before planning|write `key: value`",
    r"check the indentation here .*|indent it like .*|the file ends on .*: was it cut off\?",
    r"name each .* by itself|a base lies .*|save it beside .*|put the file beside .*",
    r"convert it: `iconv .*`",
    r"change it in an override, .*|choose another name|set \S+ as a whole|set its keys by .*",
    r"within braces a comma ends a value: .*",
    r"add nodes under .*|a node enters service when .*",
    r"name the node of each unit as it is today|list those that go on in .*|add one, .*",
    r"state the nameplate of the whole node.*|state both figures of the same node, .*",
    r"write a number alone, in the unit of the key|write a plain number, such as 12",
    r"put the text in quotes|a remark begins with a blank before its `#`",
    r"write the quarter in which they entered service",
    r"state sites\.\S+\.racks, or .*|state what a rack holds at .*|name it in one of them: .*",
    r"all money is in USD: .*|`planner catalog list \w+` lists them, .*",
    r"its (?:keys|items) are .*|one figure stands here.*|a whole number stands here, no share",
    r"write a value for each: .*|a list of .* stands here|one that is read here has .*",
    r"put it in quotes, or begin the list on a line of its own",
    r"here that is `\w+: [\w-]+`|state mean and percentiles of the same requests",
    r"begin the horizon with a later `first_quarter`|'\w+' is a (?:site|label): write it under .*",
    r"state mean and variation of the same requests: .*",
    r"write the day on which the price was asked|type a plain space or colon in its place",
    r"take a smaller model of the same family|raise `context`, or leave it out",
    r"count the weights of the checkpoint|count all tokens of (?:the data set|a day), .*",
    r"a rank is a small part of the width|a name has at most 120 characters",
    r"replace that rule by its id|give one of them another id|state it under `overrides:`",
    r"write a number; `applies` also takes .*|write true or false, without quotes",
    r"write each under its id: .*|keep one of them, without these marks|write the character itself",
    r"use single quotes, they take a backslash as it is",
)
"""Hints that ask for what the writer alone knows, or for more than an edit of the file."""


def follow(file, finding):
    """Do what the hint says; whether it says what to do."""
    for words, done in IN_TEXT.items():
        if re.fullmatch(words, finding.hint):
            file.write_text(done(file.read_text()))
            return True
    for words, done in TO_FOLLOW.items():
        if said := re.fullmatch(words, finding.hint):
            data = yaml.safe_load(file.read_text())
            done(Place(data, finding), *said.groups())
            file.write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))
            return True
    return False
