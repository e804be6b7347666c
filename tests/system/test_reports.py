# SPDX-License-Identifier: Apache-2.0
"""The short selection of the public fault reports; `hwswap check reports` runs all on all kernels."""

import pytest
from hwswap.kernel import fault_reports
from hwswap.kernel.fault_reports import Report

SHORT = [report for report in fault_reports.every() if report.short]


@pytest.mark.parametrize("report", SHORT, ids=lambda report: report.name)
def test_what_a_report_says_must_hold_holds_with_grants(report: Report) -> None:
    outcome = fault_reports.attempt(report, "hint")
    assert outcome.status == fault_reports.HOLDS, "\n".join(outcome.wrong)
