# mpi.sh - the launcher of the MPI that $METE was built with.  Source it.
#   mpi_find             false, and why in $mpi_why, where there is none
#   mpi_run N COMMAND... a job of N ranks, which may share cores
mpi_why= mpi_launch=
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpi_find() {
    local names name
    case $("$METE" version) in
    *"Open MPI"*) names="mpirun.openmpi mpirun" mpi_launch="--oversubscribe --bind-to none" ;;
    *MPICH*) names="mpirun.mpich mpirun" ;;
    *) mpi_why="built without MPI" && return 1 ;;
    esac
    for name in $names; do
        command -v "$name" >/dev/null && mpi_launch="$name $mpi_launch" && return 0
    done
    mpi_why="no mpirun of $("$METE" version | tail -n 1)"
    return 1
}
mpi_run() {
    local ranks=$1
    shift
    $mpi_launch -n "$ranks" "$@"
}
