"""How tests read a report."""

from __future__ import annotations


def sentences(report):
    """Return the findings, once they are seen to be plain sentences."""
    assert not report.ok
    assert not report
    for finding in report.findings:
        assert finding in str(report)
        assert "\n" not in finding
        assert finding[-1] == "."
    return report.findings
