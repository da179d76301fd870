"""docs/faults.md says what the tables say."""

from docs import faults_page
from femtorque.codegen.wire import messages


def test_that_the_page_is_up_to_date():
    assert faults_page.PAGE.read_text(encoding="utf-8") == faults_page.render(), "run python docs/faults_page.py"


def test_that_every_name_is_on_it_and_every_fault_is_said_to_be_found_somewhere():
    page = faults_page.render()
    for table in (messages.STATES, messages.FAULTS, messages.REFUSALS, messages.LIMITS):
        assert all(f"| {name} |" in page for name in table if name != "NONE")
    known = faults_page._found(faults_page.Safety())
    assert set(known) <= set(messages.FAULTS)
    assert set(messages.FAULTS) - set(known) == {
        "NONE", "CHIP", "CRYSTAL", "PWM_UPDATE", "TICK_TIMER", "CONVERTER"}  # found at start alone
