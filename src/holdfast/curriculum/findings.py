"""What a feasibility check says: findings with code, severity, the options they are about, and the smallest repair."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from holdfast.curriculum.gate_settings import GateSettings, changed_gate
from holdfast.curriculum.pairs import number_text

Severity = Literal["infeasible", "dead", "unreachable", "warn"]


class Repair(NamedTuple):
    """Options to change, by their dotted names, with their new values; and what that brings."""

    changes: dict[str, Any]
    text: str

    @property
    def spelled(self) -> str:
        return ", ".join(f"{name} = {value_text(value)}" for name, value in self.changes.items())


def gate_repair(changes: dict[str, Any], text: str) -> Repair:
    """A repair of gate options, given by their names inside the gate."""
    return Repair({f"gate.{name}": value for name, value in changes.items()}, text)


def repaired_gate(gate: GateSettings, repair: Repair | None) -> GateSettings:
    """The gate with a repair carried out."""
    changes = repair.changes if repair else {}
    return changed_gate(gate, {name.removeprefix("gate."): value for name, value in changes.items()})


def value_text(value: Any) -> str:
    """A value as one would type it."""
    if value is None or value == "":
        return "off"
    return ",".join(map(str, value)) if isinstance(value, tuple) else number_text(value)


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong or worth knowing before the run starts."""

    code: str
    severity: Severity
    options: tuple[str, ...]
    text: str
    numbers: dict[str, Any] = field(default_factory=dict)
    repair: Repair | None = None

    def to_json(self) -> dict[str, Any]:
        repair = {"changes": self.repair.changes, "text": self.repair.text} if self.repair else None
        return {
            "code": self.code,
            "severity": self.severity,
            "options": list(self.options),
            "numbers": self.numbers,
            "text": self.text,
            "repair": repair,
        }


@dataclass(frozen=True)
class Report:
    """All findings, and the checks that could not be made with the reason."""

    findings: tuple[Finding, ...]
    left_out: tuple[str, ...]

    @property
    def feasible(self) -> bool:
        return all(finding.severity != "infeasible" for finding in self.findings)

    def of(self, code: str) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.code == code)

    def to_json(self) -> dict[str, Any]:
        return {
            "feasible": self.feasible,
            "findings": [finding.to_json() for finding in self.findings],
            "left_out": list(self.left_out),
        }
