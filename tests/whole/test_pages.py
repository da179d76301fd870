"""Tests the pages of `verify` and `reproduce`, and pages with the drawn arm, at all widths, in light and dark."""

import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.mechanism import load_mechanism
from femtorque.host.scene import scene
from femtorque.host.scene.description import PASSIVE
from tests.support.browser import chromium


@pytest.mark.parametrize("line", [("verify", "mechanisms/two_link.toml", "--motions", "1", "--report", "{}/page.html"),
                                  ("reproduce", "chapter", "--short", "-o", "{}")], ids=lambda line: line[0])
def test_a_page_of_evidence_fits_a_telephone_and_has_a_dark_form(here, tmp_path, line):
    shown = here(*(word.format(tmp_path) for word in line))
    assert shown.returncode == 0, shown.stderr
    page, = tmp_path.glob("*.html")
    with chromium() as browser:
        grounds = {}
        for dark in (False, True):
            for width in (400, 1300):
                browser.look(width, 800, dark=dark)
                browser.open(page)
                assert browser.run("return document.documentElement.scrollWidth") <= width
            grounds[dark] = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert grounds == {False: "rgb(255, 255, 255)", True: "rgb(22, 27, 34)"}


def test_links_without_a_drive_and_the_base_share_one_colour():
    arm = load_mechanism(MECHANISMS / "five_bar.toml")
    passive = {joint.child for joint in arm.moving if not joint.actuated}
    colours = {link["name"]: link["colour"] for link in scene(arm)["links"]}
    assert {name for name, colour in colours.items() if colour == PASSIVE} == passive | {"base"}
    assert passive == {"left_rod", "right_rod"}
