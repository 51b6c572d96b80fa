"""What setup.cfg cannot say: each shell looks for its completions under a name of its own."""

from pathlib import Path

from setuptools import setup

# Of setuptools, which puts its own distutils in the place of the one that Python no longer has.
from distutils.command.install_data import install_data  # isort: skip

COMPLETIONS = {
    "completions/scenarioctl.bash": "share/bash-completion/completions/scenarioctl",
    "completions/scenarioctl.zsh": "share/zsh/site-functions/_scenarioctl",
    "completions/scenarioctl.fish": "share/fish/vendor_completions.d/scenarioctl.fish",
}


class InstallData(install_data):
    """Install the completions renamed, beside the data files of setup.cfg."""

    def run(self):
        super().run()
        for source, target in COMPLETIONS.items():
            path = Path(self.install_dir, target)
            self.mkpath(str(path.parent))
            copied, _ = self.copy_file(source, str(path))
            self.outfiles.append(copied)

    def get_inputs(self):
        return [*super().get_inputs(), *COMPLETIONS]


setup(cmdclass={"install_data": InstallData})
