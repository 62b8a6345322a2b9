"""A run folder as one self-contained page: `write_report`."""

from holdfast.views.report.page import write_report

__all__ = ["write_report"]
