# SPDX-License-Identifier: Apache-2.0
"""The report: one page of all figures, from what a run left or what the pages have on record (docs/report.md).

`figures` is what a figure is; `results` reads the result files that commands leave, `record` the tables of README and
docs, and `gather` takes the one or the other. `verdict` counts where the engine is cheaper. `sections`, `comparison`
and `sweep_page` say what is on a page, `charts` and `tables` draw it, `page` puts it together with page.css and
page.js, `pdf` prints it by a browser. From outside use `command` alone.

It draws with the environment that sim/setup/report-env makes.
"""
