# mpi.sh - the launcher of the MPI that $METE was built with.  Source it, with a folder $tmp.
#   mpi_find             false, and why in $mpi_why, where there is none
#   mpi_run N COMMAND... a job of N ranks, which may share cores
#   mpi_noted FILE N COMMAND...  the same, and each rank's process is noted in FILE
#   mpi_kill FILE RANK   kills the process of a rank that computes, not the one that guards it, as
#                        soon as it has started MPI: before, MPICH's launcher lets the others wait
mpi_why= mpi_launch=
exec {mpi_stdin}<> <(:) # never at its end, where MPICH's launcher would read it again and again
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
    TMPDIR=$tmp $mpi_launch -n "$ranks" "$@" <&"$mpi_stdin" # what a killed job leaves goes with $tmp
}
mpi_noted() {
    local file=$1 ranks=$2
    shift 2
    mpi_run "$ranks" bash -c 'echo "${OMPI_COMM_WORLD_RANK:-$PMI_RANK} $$" >>"$0"; exec "$@"' "$file" "$@"
}
mpi_kill() {
    local guard child tries=0
    until guard=$(awk -v rank="$2" '$1 == rank { print $2 }' "$1" 2>/dev/null) && child=$(pgrep -P "$guard") &&
        grep -q "^mete-rank" "/proc/$child/comm" 2>/dev/null; do
        [ -n "$guard" ] && ! kill -0 "$guard" 2>/dev/null && return 1 # it is done
        [ $((++tries)) -lt 2000 ] || return 1
        sleep 0.02
    done
    kill -9 "$child"
}
