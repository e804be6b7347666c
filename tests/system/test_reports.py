# SPDX-License-Identifier: Apache-2.0
"""The short selection of the public fault reports; `hwswap check reports` runs all of them (docs/reports.md)."""

import pytest
from hwswap.kernel import fault_reports
from hwswap.kernel.fault_reports import MODES, Report

SHORT = [report for report in fault_reports.every() if report.short]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("report", SHORT, ids=lambda report: report.name)
def test_what_a_report_says_must_hold_holds(report: Report, mode: str) -> None:
    outcome = fault_reports.attempt(report, mode)
    assert outcome.status in (fault_reports.HOLDS, fault_reports.KNOWN), outcome.wrong
