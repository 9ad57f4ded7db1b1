# wrappers.awk: nccl.txt in, the wrappers of NCCL's functions as C out; or (-v check=1) their prototypes beside those of
# a nccl.h, which a compiler compares.
function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }
function name_of(s) { sub(/.*[ *]/, "", s); return s }
function head(name, params) {
	printf "EXPORT int nccl%s(%s);\nEXPORT int nccl%s(%s)\n{\n", name, params, name, params
	printf "\tint (*real)(%s) = REAL(OF_NCCL, \"nccl%s\", int (*)(%s));\n", params, name, params
}
BEGIN { FS = "|"; print "/* Made by wrappers.awk of nccl.txt. */\n#include \"preload/library/library.h\"\n" }
/^#/ || !NF { next }
{
	split(trim($1), word, " "); name = word[2]; what = trim($2); params = trim($3)
	n = split(params, list, ","); plain = give = made = ""
	for (i = 1; i <= n; i++) {
		arg = name_of(trim(list[i])); field = arg == "root" ? "peer" : arg
		plain = plain (i > 1 ? ", " : "") arg
		give = give (i > 1 ? ", " : "") "m." field
		made = made ", ." field " = " arg
	}
	if (params !~ /int (root|peer)/) made = made ", .peer = -1"
	head(name, params)
}
word[1] == "call" {
	printf "\tstruct made m = { .kind = %s%s };\n\tint rc = 0;\n\n", what, made
	printf "\tif (!real)\n\t\treturn NCCL_INVALID_USAGE;\n\tif (preload_thread.inside)\n\t\treturn real(%s);\n", plain
	printf "\tif (call_begin(&m, &rc))\n\t\trc = real(%s);\n\trc = call_end(&m, rc);\n", give
	printf "\treturn m.twice ? nccl%s(%s) : rc;\n}\n\n", name, plain
}
word[1] == "init" || word[1] == "child" {
	print "\tstruct making m = { 0 };\n\tint rc;\n"
	printf "\tif (!real)\n\t\treturn NCCL_INVALID_USAGE;\n\tif (preload_thread.inside)\n\t\treturn real(%s);\n", plain
	if (word[1] == "init") printf "\tmake_begin(&m, newcomm, %s);\n", what
	else printf "\tmake_child(&m, newcomm, comm, %s, config);\n", what
	printf "\trc = real(%s);\n\treturn make_end(&m, rc);\n}\n\n", plain
}
word[1] == "end" {
	printf "\tint rc;\n\n\tif (!real)\n\t\treturn NCCL_INVALID_USAGE;\n\tcomm_ends(comm, %s);\n", what
	printf "\tpreload_thread.inside++;\n\trc = real(%s);\n\tpreload_thread.inside--;\n\treturn rc;\n}\n\n", plain
}
