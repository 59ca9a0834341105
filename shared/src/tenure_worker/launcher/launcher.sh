# The launcher: waits for one byte, runs one command, writes how it ended, and is the last to go.
#
# A shell, because it stays for as long as the command runs and must cost next to nothing. It never sees the
# command: the starter it runs reads that from a descriptor, becomes the leader of a session of its own and
# turns into the command, so that ending that whole session leaves this process to tell the story.
#
#   3 go       the agent writes one line end; end of file first means: start nothing
#   4 receipt  carries the lock that says "not over yet", for as long as this process lives
#   5 plan     what to execute, in memory only       6 7 8 the command's standard streams
#   9 report   closes when the command has replaced the starter
trap '' HUP INT QUIT TERM
IFS= read -r go <&3 || exit 0
exec 3<&-
"$@" <&6 >&7 2>&8 6<&- 7>&- 8>&- &
exec 5<&- 6<&- 7>&- 8>&- 9>&-
wait "$!"
echo "exit $?" >&4
