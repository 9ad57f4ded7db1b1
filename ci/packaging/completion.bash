# bash completion of hangar: its commands, and the options that a program's own --help lists
_hangar()
{
	local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]:-}
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "run diagnose predict preflight halves health pairs reconcile log nightly compare page plot tune scaling gpu_check hang hang_bisect atlas demo list $(hangar list 2>/dev/null)" -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(hangar "$command" --help 2>/dev/null | grep -oE -- '--[a-z][a-z0-9-]*' | sort -u)" -- "$word")
	fi
}
complete -o default -F _hangar hangar
