# common.gp: what all plots but the timeline share: arguments, the file's columns, the look, ticks,
# file formats. Loaded by the other scripts, which set `needs` and `texts` (the columns that they
# can't do without: numbers, text) and are called with csv and out set:
# gnuplot -e "csv='DIR/rows.csv'; out='DIR/busbw'" plots/busbw.gp

if (!exists("csv") || !exists("out")) {
	print "usage: gnuplot -e \"csv='DIR/FILE.csv'; out='DIR/NAME'\" plots/NAME.gp"
	exit status 2
}

# What is read: the rows that have as many cells as the first line; the last row of a run that was
# killed may break off. gnuplot ends a text at a comma even in quotes: there it is a semicolon here.
in_shell(s) = (mark = strstrt(s, "'"), mark ? s[:mark - 1]."'\\''".in_shell(s[mark + 1:]) : s)
file = csv
csv = "< exec 2>/dev/null; awk -F, '/^#/ { next } NR == 1 { width = NF } \
	/\"/ { n = split($0, part, \"\\\"\"); line = part[1]; for (i = 2; i <= n; i++) { \
		if (i % 2 == 0) gsub(/,/, \";\", part[i]); line = line \"\\\"\" part[i] } $0 = line } \
	NF >= width' <'".in_shell(file)."'"
# Text of a file with its commas again
commas(s) = (mark = strstrt(s, ";"), mark ? s[:mark - 1].",".commas(s[mark + 1:]) : s)

# The first line, whole, tells which columns there are.
header = ""
set datafile separator "\t"
stats csv using (header = header eq "" ? strcol(1) : header, 0) nooutput
place(name) = (mark = strstrt(",".header.",", ",".name.","), \
	mark ? 1 + (sum [k = 1:mark] (header[k:k] eq "," && k < mark)) : 0)
lacking = ""
places = ""
do for [name in needs." ".texts] {
	if (!place(name)) { lacking = lacking." ".name }
}
do for [name in needs] {
	places = places.sprintf("%d ", place(name))
}
if (lacking ne "") {
	print file, header eq "" ? ": not there, or empty" : ": no column".lacking
	exit status 1
}
# `wants`: numbers that can be done without; it is said which are not there.
lacking = ""
if (!exists("wants")) { wants = "" }
do for [name in wants] {
	if (!place(name)) { lacking = lacking." ".name }
}
if (lacking ne "") { print file, ": drawn without column".lacking }

# The file's header line gives its columns their names; a panel is a block of numbers without one.
of_file = "set datafile separator ','; set key autotitle columnheader"
of_panel = "set datafile separator whitespace; set key noautotitle"
eval of_file
set datafile missing NaN          # a row of another curve leaves no gap in this one's line

# A row counts where all its numbers are there.
whole(row) = (sum [k = 1:words(places)] valid(int(word(places, k)))) == words(places)

# "a,b,c" as words
spaced(s) = (mark = strstrt(s, ","), mark ? s[:mark - 1]." ".spaced(s[mark + 1:]) : s)

# number(name): an optional column's number, NaN where the file or the row has none
number(name) = place(name) ? valid(place(name)) ? column(name) : NaN : NaN

# keep(words, name): the words, with `name` among them; in quotes, so that a name may hold blanks
keep(list, name) = strstrt(list, "'".name."'") ? list : list.(list eq "" ? "" : " ")."'".name."'"

index_of(list, name) = (sum [k = 1:words(list)] (word(list, k) eq name ? k : 0))

# Text of a file goes into a command in single quotes alone: in double ones gnuplot runs `backticks`.
quoted(s) = (mark = strstrt(s, "'"), mark ? s[:mark - 1]."''".quoted(s[mark + 1:]) : s)

# Panels on a sheet: columns for so many, and rows
across(n) = n < 2 ? 1 : n < 5 ? 2 : 3
down(n) = (n + across(n) - 1) / across(n)

# Colours that colour-blind readers can tell apart (Okabe and Ito).
array colours[8] = [0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7, 0xE69F00, 0x56B4E9, 0x000000, 0x999999]
# An algorithm and a collective have the same place in all plots; other names have place i.
algorithms = "Ring Tree NVLS NVLSTree PAT CollNetDirect CollNetChain P2P"
collectives = "all_reduce all_gather reduce_scatter broadcast alltoall sendrecv reduce alltoallv \
	gather scatter hypercube"
place_of(name, i) = (known = index_of(algorithms, name) + index_of(collectives, name), known ? known : i)
colour_of(name, i) = colours[(place_of(name, i) - 1) % 8 + 1]
look = "set border 3 linecolor rgb '#555555'; set tics nomirror out textcolor rgb '#222222'; \
	set grid xtics ytics linetype 1 linecolor rgb '#e4e4e4' linewidth 1"
eval look

# What a panel needs: for eval. A strip below all panels, so high (share of the picture), is for
# the key alone.
panel_look = look."; unset key; set tics nomirror out font ',11'; set lmargin; set rmargin; set bmargin; set tmargin"
legend_look(high) = sprintf("unset title; unset label; unset border; unset tics; unset grid; \
	unset logscale; unset object; unset arrow; set xrange [0:1]; set yrange [0:1]; \
	set lmargin at screen 0.02; set rmargin at screen 0.98; set bmargin at screen 0; \
	set tmargin at screen %g; set key on inside center center horizontal samplen 2.5 \
	noenhanced reverse Left font ',12'", high)

# Ticks at powers of two, labelled 1K 1M 1G, at most about `many` of them: text for eval.
unit(b) = b >= 2.0**40 ? sprintf("%gT", b / 2.0**40) : \
	b >= 2.0**30 ? sprintf("%gG", b / 2.0**30) : \
	b >= 2.0**20 ? sprintf("%gM", b / 2.0**20) : \
	b >= 2.0**10 ? sprintf("%gK", b / 2.0**10) : sprintf("%g", b)
add_tick(v) = (ticks = ticks.(ticks eq "" ? "" : ", ").sprintf("'%s' %.0f", unit(v), v), 0)
power_ticks(from, to, many) = (ticks = "", low = int(floor(log(from) / log(2))), \
	high = int(ceil(log(to) / log(2))), step = (high - low) / many + 1, \
	done = (sum [k = 0:(high - low) / step] add_tick(2.0**(low + k * step))), \
	"set xtics (".ticks.")")

# The command that selects a file format: for eval. `wide` and `tall` in units of 900 x 560.
# formats='svg' draws no PNG.
if (!exists("formats")) { formats = "svg png" }
terminal(format, wide, tall) = format eq "svg" ? \
	sprintf("set terminal svg size %d, %d dynamic enhanced font 'Helvetica,14' background 'white'", \
		900 * wide, 560 * tall) : \
	sprintf("set terminal pngcairo size %d, %d fontscale 2 linewidth 2 pointscale 2 enhanced \
		background 'white'", 1800 * wide, 1120 * tall)
