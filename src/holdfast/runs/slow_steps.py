"""Steps of the world that take much longer than usual: which ones count, and when they deserve a trace."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import median

LEAST_S = 1.0  # an ordinary step of all lanes takes milliseconds
TIMES_MEDIAN = 20.0
REMEMBERED = 101


@dataclass
class SlowSteps:
    """Looks at the duration of every step; costs a comparison unless the step is slow."""

    limit_s: float  # 0: by the median
    count: int
    window_s: float
    usual: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    slow_at: deque[float] = field(default_factory=deque)  # moments of slow steps within the window

    @property
    def threshold_s(self) -> float:
        if self.limit_s > 0.0:
            return self.limit_s
        return max(LEAST_S, TIMES_MEDIAN * median(self.usual)) if self.usual else LEAST_S

    def is_slow(self, duration_s: float) -> bool:
        """A step that is over. The first step of all is never slow by the median: it may compile."""
        surely_fast = duration_s < (self.limit_s or LEAST_S)
        first = self.limit_s == 0.0 and not self.usual
        slow = not surely_fast and not first and duration_s > self.threshold_s
        self.usual.append(duration_s)
        return slow

    def note(self, now_s: float) -> bool:
        """Count a slow step; true when there were enough of them to write a trace, which empties the window."""
        self.slow_at.append(now_s)
        while self.slow_at[0] < now_s - self.window_s:
            self.slow_at.popleft()
        if len(self.slow_at) < self.count:
            return False
        self.slow_at.clear()
        return True

    def is_last_before_trace(self, now_s: float) -> bool:
        """Would one more slow step bring a trace? Then it is best taken while that step still lasts."""
        return sum(moment >= now_s - self.window_s for moment in self.slow_at) >= self.count - 1
