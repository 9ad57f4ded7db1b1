# wrappers.awk: nccl.txt in, the wrappers of its functions as C out.
function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }
function name_of(s) { sub(/.*[ *]/, "", s); return s }
function head(library, name, params) {
	params = params == "" ? "void" : params
	printf "EXPORT int %s(%s);\nEXPORT int %s(%s)\n{\n", name, params, name, params
	printf "\tstatic void *kept;\n\tint (*real)(%s) = (int (*)(%s))resolve(%s, \"%s\", &kept);\n", params, params, library, name
}
BEGIN { FS = "|"; print "/* Made by wrappers.awk of nccl.txt. */\n#include \"library/library.h\"\n" }
/^#/ || !NF { next }
{
	split(trim($1), word, " "); name = word[2]; what = trim($2); params = trim($NF); after = trim($3)
	n = split(params, list, ","); plain = give = made = ""
	for (i = 1; i <= n; i++) {
		arg = name_of(trim(list[i])); field = arg == "root" ? "peer" : arg
		plain = plain (i > 1 ? ", " : "") arg
		give = give (i > 1 ? ", " : "") (arg == "config" ? "" : "m.") field
		if (arg != "config") made = made ", ." field " = " arg
	}
	if (params !~ /int (root|peer)/) made = made ", .peer = -1"
	if (word[1] == "wrap") head(name, word[3], params)
	else head("OF_NCCL", "nccl" name, params)
}
word[1] == "call" {
	printf "\tstruct made m = { .kind = %s%s, .caller = __builtin_return_address(0) };\n\tint rc = 0;\n\n", what, made
	printf "\tif (!real)\n\t\treturn NCCL_INVALID_USAGE;\n\tif (preload_thread.inside)\n\t\treturn real(%s);\n", plain
	printf "\tif (call_begin(&m, &rc))\n\t\trc = real(%s);\n\trc = call_end(&m, rc);\n", give
	printf "\treturn m.twice ? nccl%s(%s) : rc;\n}\n\n", name, plain
}
word[1] == "init" || word[1] == "child" {
	print "\tstruct making m = { 0 };\n\tint rc;\n"
	printf "\tif (!real)\n\t\treturn NCCL_INVALID_USAGE;\n\tif (preload_thread.inside)\n\t\treturn real(%s);\n", plain
	if (word[1] == "init") printf "\tmake_begin(&m, newcomm, %s);\n", what
	else printf "\tmake_child(&m, newcomm, comm, %s);\n", what
	printf "\trc = real(%s);\n\treturn make_end(&m, rc);\n}\n\n", plain
}
word[1] == "wrap" {
	printf "\tint rc;\n\n\tif (!real)\n\t\treturn NCCL_INVALID_USAGE;\n\tif (preload_thread.inside)\n\t\treturn real(%s);\n", plain
	printf "\t%s;\n\tpreload_thread.inside++;\n\trc = real(%s);\n\tpreload_thread.inside--;\n\treturn %s;\n}\n\n", what, plain, after
}
