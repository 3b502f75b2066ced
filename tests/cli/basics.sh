# The command itself: help, version, and being asked wrongly.
. "$(dirname "$0")/lib.sh"
ok "help" "$METE" --help
ok "version" "$METE" --version
refuses "unknown command" 2 "no command 'trian'" "$METE" trian
finish
