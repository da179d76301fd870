"""`pio test -e emulator`: builds the image for emulators and runs the cases of smoke.py on QEMU."""

import sys
import time
from pathlib import Path

import click
from platformio.public import TestCase, TestRunnerBase, TestStatus

sys.path.insert(0, str(Path(__file__).resolve().parent))


class CustomTestRunner(TestRunnerBase):
    def stage_testing(self) -> None:
        import smoke  # this import needs femtorque; the build alone does not

        click.secho("Testing...", bold=True)
        project = Path(self.project_config.path).parent
        elf = project / ".pio" / "build" / self.test_suite.env_name / "firmware.elf"
        for case in smoke.CASES:
            started = time.monotonic()
            status, message, error = TestStatus.PASSED, None, None
            try:
                smoke.run(case, elf, project)
            except AssertionError as failed:
                status, message = TestStatus.FAILED, str(failed)
            except Exception as problem:  # for example if the emulator is missing
                status, message, error = TestStatus.ERRORED, str(problem), problem
            result = TestCase(name=case.__name__, status=status, message=message, exception=error,
                              duration=time.monotonic() - started)
            self.test_suite.add_case(result)
            click.echo(result.humanize())
