-- modulefile.lua: for Lmod, as MODULEPATH/hangar/VERSION.lua; `root` is where the bundle was unpacked, on a file system of all nodes.
-- Slurm: srun --mpi=pmix hangar all_reduce -b 1M -e 1G
local root = "/opt/hangar"
whatis("hangar: measures collectives of NCCL, breaks them on purpose, says why a job hangs")
prereq(atleast("openmpi", "4.1"))
prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("PATH", pathJoin(root, "libexec/hangar/bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))
source_sh("bash", pathJoin(root, "share/bash-completion/completions/hangar"))
