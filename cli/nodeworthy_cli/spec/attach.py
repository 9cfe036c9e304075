"""``nodeworthy spec attach``: from a file to an image."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import click

from nodeworthy import errors
from nodeworthy_cli.output import format_option, print_document
from nodeworthy_cli.registry_login import login_options, with_login
from nodeworthy_cli.registry_options import make_access, registry_options
from nodeworthy_cli.spec.targets import Targets, read_targets, targets_option
from nodeworthy_cli.specifications import read_valid_spec
from nodeworthy_resolver import oci


@click.command(name="attach")
@click.argument("image")
@click.argument("file")
@targets_option("Attach to")
@format_option
@registry_options
@login_options
def command(
    *,
    image: str,
    file: str,
    names: tuple[str, ...],
    output: str,
    registry_config: Path | None,
    ca_file: Path | None,
    timeout: float,
    plain_http: bool | None,
) -> None:
    """Attach a specification to an image: to what the reference resolves to, or to children of the index.

    The newest of several attached specifications counts. Exit codes: 0 attached, 2 whatever stopped it.
    """
    try:
        data, spec = read_valid_spec(file, "nothing was attached; mend the file first")
        reference = oci.parse_reference(image)
        access = make_access(registry_config, ca_file, timeout, plain_http=plain_http)
        access = with_login(access, [reference], files=[file])
        attached = asyncio.run(_attach(reference, data, read_targets(names), access, Path(file).name))
    except errors.NodeworthyError as error:
        what, why, todo = error.diagnostics()
        raise errors.UsageError(what, why=why, todo=todo) from error
    for notice in spec.notices:
        click.echo(f"note: {notice}", err=True)
    if output == "table":
        for one in attached:
            platform = f" ({one.platform})" if one.platform else ""
            click.echo(f"attached {one.digest} to {one.subject}{platform}, found by {one.via.value}")
        return
    shown = [
        {
            "digest": one.digest,
            "subject": one.subject,
            "platform": str(one.platform) if one.platform else None,
            "via": one.via.value,
        }
        for one in attached
    ]
    print_document(shown[0] if len(shown) == 1 else shown, output)


async def _attach(
    reference: oci.AnyReference,
    data: bytes,
    targets: Targets,
    access: oci.RegistryAccess,
    title: str,
) -> tuple[oci.Attached, ...]:
    async with oci.open_store(reference, access) as store:
        return await oci.attach(store, reference, data, platforms=targets, created=datetime.now(UTC), title=title)
