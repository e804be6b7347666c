# SPDX-License-Identifier: Apache-2.0
"""Where the workers are: on this machine, at a scheduler that runs already, or as jobs of Slurm."""

import argparse
import contextlib
import logging
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import dask
from distributed import Client, LocalCluster

from hwswap.project import paths
from hwswap.sweep.plan import SweepError

CONNECT_SECONDS = 15

SLURM = {"cores": 1, "memory": "2GB"}
"""Of a job, where Dask's own configuration (jobqueue.slurm) says nothing else."""


def _quiet() -> None:
    """What goes wrong is told as a sentence of ours; workers that end with an interrupt have nothing to say."""
    for name in ("distributed", "distributed.worker", "distributed.nanny", "distributed.scheduler", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


@contextlib.contextmanager
def _local(jobs: int) -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
            local_directory=os.environ.get("TMPDIR", "/tmp"),
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextlib.contextmanager
def _at(address: str) -> Iterator[Client]:
    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError, TimeoutError) as error:
        raise SweepError(f"no scheduler answers at {address}: start one, or leave --scheduler out") from error
    with client:
        if not client.scheduler_info()["workers"]:
            raise SweepError(f"the scheduler at {address} has no worker: start one (docs/report.md says how)")
        yield client


@contextlib.contextmanager
def _slurm(jobs: int, logs: Path) -> Iterator[Client]:
    from dask_jobqueue import SLURMCluster  # needed for this alone

    if shutil.which("sbatch") is None:
        raise SweepError("sbatch is not there: --slurm is for a machine that submits jobs to Slurm")
    settings = {name: dask.config.get(f"jobqueue.slurm.{name}", None) or default for name, default in SLURM.items()}
    logs.mkdir(parents=True, exist_ok=True)
    with (
        SLURMCluster(
            **settings,
            python=sys.executable,
            job_script_prologue=[f"export PYTHONPATH={os.environ.get('PYTHONPATH', paths.ROOT / 'sim')}"],
            log_directory=str(logs),
            scheduler_options={"dashboard": False, "dashboard_address": ":0"},
        ) as cluster,
        Client(cluster) as client,
    ):
        # A job that comes to its end, of time or otherwise, is followed by another.
        cluster.adapt(minimum_jobs=jobs, maximum_jobs=jobs)
        yield client


def client_for(options: argparse.Namespace, logs: Path) -> contextlib.AbstractContextManager[Client]:
    """Return the client of the workers that the command line asks for.

    Args:
        options: with `scheduler`, `slurm` and `jobs`.
        logs: folder for what jobs of Slurm print.
    """
    _quiet()
    # Workers that are lost are not to take the sweep with them at once; nothing is to be sent anywhere.
    dask.config.set({"distributed.scheduler.allowed-failures": 2, "distributed.admin.tick.limit": "1h"})
    if options.scheduler:
        return _at(options.scheduler)
    if options.slurm:
        return _slurm(options.slurm, logs)
    return _local(options.jobs)
