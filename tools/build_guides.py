"""The build step of the package that copies the guides from docs/ into it, where `scenarioctl help`
finds them."""

from pathlib import Path

from setuptools.command.build_py import build_py


class BuildGuides(build_py):  # type: ignore[misc]
    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib) / "scenarioctl" / "guides"
        self.mkpath(str(target))
        for guide in sorted(Path("docs").glob("*.md")):
            self.copy_file(str(guide), str(target / guide.name))
