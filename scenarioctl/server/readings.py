"""A metric that is read at each scrape."""

from collections.abc import Mapping
from dataclasses import dataclass

from scenarioctl.histogram import Histogram


@dataclass(frozen=True, kw_only=True)
class MetricReading:
    """A metric, and its values by labels."""

    name: str
    help: str
    #: Label values -> value; the key is () without labels.
    values: Mapping[tuple[str, ...], float | Histogram]
    labels: tuple[str, ...] = ()
    #: `counter` if it only grows, `histogram`, or else `gauge`.
    kind: str = "gauge"

    def lines(self) -> list[str]:
        """Return it in Prometheus' text format."""
        name = self.name + ("_total" if self.kind == "counter" else "")
        lines = [f"# HELP {name} {self.help}", f"# TYPE {name} {self.kind}"]
        for labels, value in sorted(self.values.items(), key=lambda item: item[0]):
            if not isinstance(value, Histogram):
                lines.append(f"{name}{_labels(self.labels, labels)} {_number(value)}")
                continue
            for bound, count in value.buckets():
                lines.append(f"{name}_bucket{_labels((*self.labels, 'le'), (*labels, bound))} {count}")
            lines.append(f"{name}_sum{_labels(self.labels, labels)} {_number(value.total)}")
            lines.append(f"{name}_count{_labels(self.labels, labels)} {value.count}")
        return lines


def plain(name: str, help: str, value: float, *, kind: str = "gauge") -> MetricReading:
    """Return a metric without labels."""
    return MetricReading(name=name, help=help, values={(): float(value)}, kind=kind)


def _labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    if not names:
        return ""
    quoted = (
        f'{name}="{value.replace(chr(92), chr(92) * 2).replace(chr(34), chr(92) + chr(34)).replace(chr(10), chr(92) + "n")}"'
        for name, value in zip(names, values, strict=True)
    )
    return "{" + ",".join(quoted) + "}"


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
