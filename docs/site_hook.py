"""The documentation site (mkdocs.yml): docs/, README and other pages. `make lint` refuses links without a target."""

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))

import proofs_page  # noqa: E402
from links import relinked  # noqa: E402

BROUGHT = {"README.md": "index.md", "codegen/THEORY.md": "codegen-theory.md", "firmware/README.md": "firmware.md",
           "CONTRIBUTING.md": "contributing.md", "assurance/README.md": "assurance.md",
           "CHANGELOG.md": "changelog.md"}  # in the checkout: on the site
GALLERY = ROOT / "build" / "gallery"  # pages of runs, if `make site` has made them


def on_files(files: Files, config: Any) -> Files:
    """Add pages from other folders than docs/, and the pages of runs in build/gallery."""
    for source, page in BROUGHT.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_moved(text, posixpath.dirname(source))))
    files.append(File.generated(config, "theorems.md", content=proofs_page.listed()))
    runs = sorted(GALLERY.glob("*.html"))
    for run in runs:
        files.append(File.generated(config, f"gallery/{run.name}", abs_src_path=str(run)))
    if runs:
        shown = "\n".join(f"- [{run.stem}](gallery/{run.name}): {_said(run.stem)}" for run in runs)
        if (moving := GALLERY / "moving.webp").exists():
            files.append(File.generated(config, "gallery/moving.webp", abs_src_path=str(moving)))
            shown += "\n\n![A page of a run: the arm moves with the line in its curves](gallery/moving.webp)"
        files.append(File.generated(config, "gallery.md", content=f"""# Runs on the virtual board

These pages were made by `femtorque plot`. A time slider moves the arm and a line in all curves.

{shown}
"""))
        config.nav.insert(1, {"Gallery": "gallery.md"})
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Return the page with links to the site. A link whose target is not on the site becomes plain text."""
    return markdown if page.file.src_uri in BROUGHT.values() else _moved(markdown, "docs")


def _said(name: str) -> str:
    """Return the first sentence of an example's mechanism file."""
    comment = (ROOT / "mechanisms" / f"{name}.toml").read_text(encoding="utf-8").replace("\n# ", " ")
    return comment.partition(". ")[0].removeprefix("# ")


def _moved(text: str, folder: str) -> str:
    """Return a page with links to the site. folder: the folder of the page in the repository."""
    def moved(target: str) -> str | None:
        if target.startswith(("https://", "http://", "#")):
            return target
        path, hash, anchor = target.partition("#")
        place = posixpath.normpath(posixpath.join(folder, path))
        on_site = BROUGHT.get(place) or (place.removeprefix("docs/") if place.startswith("docs/") else None)
        return None if on_site is None or on_site.endswith(".py") else on_site + hash + anchor

    # Python-Markdown needs an empty line before a list
    return relinked(re.sub(r"^(?![-*|>#\s]).+\n(?=- )", r"\g<0>\n", text, flags=re.MULTILINE), moved)
