"""What the run takes of the machine: psutil for processor and memory, NVML for GPUs where there are any.

What cannot be measured is absent, never 0.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import psutil

from holdfast.runs.heartbeat import utc

MB = 1e6


class Resources:
    """Samples of this process and its machine. The first CPU share is of the time since this was made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = psutil.Process()
        self.process.cpu_percent()
        psutil.cpu_percent()
        self.gpus = _Gpus()

    def sample(self) -> dict[str, Any]:
        with self.process.oneshot():
            return {
                "time": utc(),
                "process_cpu_pct": self.process.cpu_percent(),
                "process_memory_mb": round(self.process.memory_info().rss / MB, 1),
                "threads": self.process.num_threads(),
                "system_cpu_pct": psutil.cpu_percent(),
                "system_memory_pct": psutil.virtual_memory().percent,
                "disk_free_mb": round(shutil.disk_usage(self.folder).free / MB),
                **self.gpus.sample(),
            }


class _Gpus:
    """NVIDIA's own library, without a process of its own for every question."""

    def __init__(self) -> None:
        try:
            import pynvml
        except ImportError:
            self.handles: list[Any] = []
            return
        self.nvml = pynvml
        try:
            pynvml.nvmlInit()
            self.handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        except pynvml.NVMLError:  # the library is there, a driver is not
            self.handles = []

    def sample(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for index, handle in enumerate(self.handles):
            memory = self.nvml.nvmlDeviceGetMemoryInfo(handle)
            found[f"gpu_{index}_util_pct"] = self.nvml.nvmlDeviceGetUtilizationRates(handle).gpu
            found[f"gpu_{index}_memory_used_mb"] = round(memory.used / MB)
            found[f"gpu_{index}_memory_total_mb"] = round(memory.total / MB)
        return found
