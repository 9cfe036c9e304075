"""The readings of what files tell beside code, in the order in which they are carried out."""

from nodeworthy_resolver.inspection.readings.allocators import read_allocators
from nodeworthy_resolver.inspection.readings.compiler_flags import read_compiler_flags
from nodeworthy_resolver.inspection.readings.cuda_libraries import read_cuda_libraries
from nodeworthy_resolver.inspection.readings.distributions import read_distribution
from nodeworthy_resolver.inspection.readings.go_programs import read_go_programs
from nodeworthy_resolver.inspection.readings.gpu_code import read_gpu_code
from nodeworthy_resolver.inspection.readings.jdks import read_jdks
from nodeworthy_resolver.inspection.readings.known_programs import read_known_programs
from nodeworthy_resolver.inspection.readings.libcs import read_libcs
from nodeworthy_resolver.inspection.readings.listeners import read_listeners
from nodeworthy_resolver.inspection.readings.nvidia_requirements import read_nvidia_requirements
from nodeworthy_resolver.inspection.readings.packages import read_packages
from nodeworthy_resolver.inspection.readings.rocm import read_rocm
from nodeworthy_resolver.inspection.readings.script_checks import read_script_checks
from nodeworthy_resolver.inspection.readings.syscalls import read_syscalls
from nodeworthy_resolver.inspection.readings.wheels import read_wheels
from nodeworthy_resolver.inspection.readings.windows import read_windows
from nodeworthy_resolver.inspection.subject import Reading

READINGS: tuple[tuple[str, Reading], ...] = (
    ("C libraries", read_libcs),
    ("distribution", read_distribution),
    ("Windows build", read_windows),
    ("system calls", read_syscalls),
    ("Go programs", read_go_programs),
    ("Python packages", read_wheels),
    ("Java runtimes", read_jdks),
    ("NVIDIA's requirements", read_nvidia_requirements),
    ("CUDA libraries", read_cuda_libraries),
    ("code for NVIDIA's GPUs", read_gpu_code),
    ("code for AMD's GPUs", read_rocm),
    ("allocators", read_allocators),
    ("known software", read_known_programs),
    ("scripts' own checks", read_script_checks),
    ("addresses of servers", read_listeners),
    ("compilers' options", read_compiler_flags),
    ("packages", read_packages),
)
"""By the words in which one is named that fails; first what decides most often, last what only tells more."""
