"""What was meant by a command or an option that there is not."""

from __future__ import annotations

import click

from planner.inputs.text.words import did_you_mean, nearest, one_of

__all__ = ["Group", "with_hint"]

_SHOWN = 5


class Group(click.Group):
    """Commands that tell what an unknown one may have meant, or which there are."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but in the words of this planner."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-"):
            hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
            ctx.fail(f"no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)


def with_hint(error: click.NoSuchOption) -> click.UsageError:
    """The same, naming the options that begin so; click compares whole names alone."""
    asked = f"--{error.option_name.lstrip('-')}"
    options = error.ctx.command.params if error.ctx else ()
    names = sorted(name for option in options for name in option.opts if name.startswith("--"))
    near = [name for name in names if name.startswith(asked)] or nearest(asked, names)
    hint = f"; did you mean {one_of([repr(name) for name in near[:_SHOWN]])}?" if near else ""
    return click.UsageError(f"no option {error.option_name!r}{hint}", error.ctx)
