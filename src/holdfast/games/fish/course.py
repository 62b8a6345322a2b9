"""What one iteration trains on: phase, fish, density cost and boost, under the limit that the gate sets."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.curriculum.gate_settings import Controls
from holdfast.curriculum.schedule import Schedule
from holdfast.games.fish.boost import BoostSettings, boost_at
from holdfast.games.fish.density import DensitySettings, density_coefficient


class Conditions(NamedTuple):
    """The curriculum's part of one iteration."""

    phase: int  # the phase that sets fish and boost
    fish: int
    density: float
    boost: float


class Course(NamedTuple):
    """Everything of a run's curriculum that is known before it starts."""

    schedule: Schedule
    density: DensitySettings
    boost: BoostSettings
    base_density: float = 0.0  # where no targets are written

    def at(self, iteration: int, phase_limit: int, controls: Controls) -> Conditions:
        """Conditions of an iteration: the limit holds back nothing, the density cost alone, or the whole schedule."""
        last = len(self.schedule.phases)
        phase = self.schedule.phase_at(iteration)
        if controls == "schedule":
            phase = min(phase, phase_limit)
        density = self.base_density
        if self.density.targets:
            density_limit = last if controls == "none" else phase_limit
            density = density_coefficient(self.density, self.schedule, iteration, density_limit)
        return Conditions(phase, self.schedule.of_phase(phase).fish, density, boost_at(self.boost, phase, density))
