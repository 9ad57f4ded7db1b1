# fault_table.awk: makes the table of faults, in C, of the names in faults.txt, which it checks against the families.
# usage: awk -f fault_table.awk RS= faults.txt RS='\n' FAMILY.c...

function wrong(text) {
	print text >"/dev/stderr"
	bad = 1
}

FILENAME ~ /faults[.]txt$/ {
	if ($1 !~ /^#/) {
		name[++n] = $1
		gsub(/-/, "_", $1)
		of[name[n]] = $1
		listed[$1] = FILENAME
	}
	next
}

/^const struct fault fault_[a-z0-9_]+ = / {
	sub(/^fault_/, "", $4)
	made[$4] = FILENAME
}

END {
	for (f in made)
		if (!(f in listed))
			wrong(made[f] ": fault_" f ": not registered: add its paragraph to faults/inject/faults.txt")
	for (i = 1; i <= n; i++)
		if (!(of[name[i]] in made))
			wrong(listed[of[name[i]]] ": " name[i] ": no file beside it defines \"const struct fault fault_" of[name[i]] "\"")
	if (bad)
		exit 1
	print "/* Made of faults.txt: all faults, in the order of --list-faults. */\n#include \"inject/fault.h\"\n"
	for (i = 1; i <= n; i++)
		print "extern const struct fault fault_" of[name[i]] ";"
	print "\nconst struct fault *const fault_table[] = {"
	for (i = 1; i <= n; i++)
		print "\t&fault_" of[name[i]] ","
	print "\tNULL\n};"
}
