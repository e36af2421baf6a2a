"""`vertical-operator run`."""

import asyncio

import typer

from vertical_engines.contract.additions import BadToolchains
from vertical_operator.kube.client import NoAccess
from vertical_operator.runtime.logs import configure_logs
from vertical_operator.runtime.process import run
from vertical_operator.runtime.settings import BadSetting, RuntimeSettings


def run_operator() -> int:
    """Run until told to stop; returns the exit code: 0 stopped as asked, 1 something broke, 2 a setting can't be used."""
    try:
        settings = RuntimeSettings.from_environment()
    except BadSetting as error:
        typer.echo(f"vertical-operator: {error}", err=True)
        return 2
    configure_logs(settings.log_level)
    try:
        return asyncio.run(run(settings))
    except BadToolchains as error:
        for line in str(error).splitlines():
            typer.echo(f"vertical-operator: OPERATOR_TOOLCHAINS_FILE: {line}", err=True)
        return 2
    except NoAccess as error:
        typer.echo(f"vertical-operator: no access to a cluster: {error}", err=True)
        return 2
