# bash completion of hangar: its commands, the options that a program's own --help lists, and the values of some
_hangar()
{
	local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]:-} option words=''
	if [ "$COMP_CWORD" -eq 1 ]; then
		words="run status plugin diagnose verify schedule log demo hang perf sweep plot page predict reconcile pairs preflight halves health gpu_check night compare tune scaling hang_bisect hang_reduce atlas help list"
		mapfile -t COMPREPLY < <(compgen -W "$words $(hangar list 2>/dev/null)" -- "$word")
		return
	fi
	# "--fault=dr" is three words, and "--fault=" two
	option=${COMP_WORDS[COMP_CWORD - 1]}
	[ "$option" != = ] || option=${COMP_WORDS[COMP_CWORD - 2]}
	if [ "$word" = = ]; then word=''; fi
	case $option in
	--fault | --expect)
		[ "$command" != perf ] || command=${COMP_WORDS[2]:-}
		words=$(hangar "$command" --list-faults 2>/dev/null | sed -n '3,$s/^# \([a-z][a-z0-9-]*\) .*/\1/p')
		;;
	--topo | -t) words=$(hangar predict --list 2>/dev/null | sed 's/ .*//') ;;
	--streams) words='one each' ;;
	--as) words='text nccl mpi torch' ;;
	--on-hang) words='report abort kill' ;;
	--backend) words='auto nccl mpi null' ;;
	perf) words=$(hangar list 2>/dev/null | sed -n 's/_perf$//p') ;;
	help) words='json run diagnose verify schedule log predict preflight health night compare page perf demo' ;;
	esac
	if [ -n "$words" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
	elif [[ $word == -* ]]; then
		[ "$command" != perf ] || command=${COMP_WORDS[2]:-}
		mapfile -t COMPREPLY < <(compgen -W "$(hangar "$command" --help 2>/dev/null | grep -oE -- '--[a-z][a-z0-9-]*' | sort -u)" -- "$word")
	fi
}
complete -o default -F _hangar hangar
