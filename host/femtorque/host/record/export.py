"""Writes a run as a table for other programs: CSV, or Parquet with pyarrow. pyarrow has 40 MB, so it is an extra."""

import csv
from pathlib import Path
from typing import Any

from femtorque.codegen.common import PARQUET, TABLE, BadInput, Refused, claim, installing, replacing
from femtorque.host.record.log import PER_JOINT, Run


def table(run: Run) -> dict[str, list[Any]]:
    """Return columns by name, in the order of `stream`'s CSV; t in s since the board's reset, SI units."""
    columns: dict[str, list[Any]] = {"t": run.t.tolist(), "state_name": list(run.state)}
    columns |= {name: values.astype(int).tolist() if (values == values.round()).all() else values.tolist()
                for name, values in run.scalars.items()}
    for j, joint in enumerate(run.joints):
        columns |= {f"{joint}.{name}": getattr(run, name)[:, j].tolist() for name in PER_JOINT}
        columns[f"{joint}.error"] = run.error[:, j].tolist()
        if run.true is not None:
            columns |= {f"{joint}.true": run.true[:, j].tolist(), f"{joint}.true_error": run.true_error[:, j].tolist()}
    return columns | ({} if run.unix_time is None else {"unix_time": run.unix_time.tolist()})


def write_export(run: Run, path: Path, force: bool = False) -> None:
    """Write a .csv or .parquet file. Raises BadInput for the suffix or an existing file, Refused without pyarrow."""
    claim(path, PARQUET if path.suffix == ".parquet" else TABLE, force)
    if path.suffix == ".csv":
        _csv(run, path)
    elif path.suffix == ".parquet":
        _parquet(run, path)
    else:
        raise BadInput(path, "output", None, "must end in .csv or .parquet")


def _csv(run: Run, path: Path) -> None:
    columns = table(run)
    with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow([f"{x:.10g}" if isinstance(x, float) else x for x in row])


def _parquet(run: Run, path: Path) -> None:
    try:
        import pyarrow  # noqa: PLC0415 (an extra)
        from pyarrow import parquet  # noqa: PLC0415
    except ModuleNotFoundError:
        raise Refused(f"{path}: Parquet takes pyarrow: {installing('parquet')}") from None
    about = {"mechanism": run.mechanism, "digest": run.digest, "rate_hz": str(run.rate_hz), "knot_hz": str(run.knot_hz)}
    with replacing(path) as part:
        parquet.write_table(pyarrow.table(table(run)).replace_schema_metadata(about), part)
