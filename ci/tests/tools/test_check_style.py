"""test_check_style.py: ci/check_style finds each thing that it looks for where it was planted, and nothing in files that are in order."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
PATH = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../check_style"))
LOADER = importlib.machinery.SourceFileLoader("check_style", PATH)
style = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_style", LOADER))
LOADER.exec_module(style)

PLAIN = '''/* a.c: a string may hold any word; kidnap, straylight and snap are other words. A list of what is left
 * begins no sentence with such a word. */
static const char *text = "whoever /* whom */ nobody";
int snap_kidnap(int unisonal) { return unisonal; } // Offset is no Of.
'''
NAMES = '''/* a.c: names. */
int a = HEARING_MAX;
int b = nap_until(c->is_sided);
struct unison *c;
'''
COMMENTS = '''/* a.c: nobody is here.
 * Whom it concerns. */
/* It waits. Of whom, it
 * says. */
'''


def words(count):
    return "A " + "word " * (count - 2) + "end."


class CheckStyle(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        os.mkdir("room")

    def complaints(self, name, text, *mode):
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            failed = style.main([*mode, name])
        found = [line for line in said.getvalue().splitlines() if line.startswith(name + ":")]
        self.assertEqual(bool(failed), bool(found))
        return [line[len(name) + 1:] for line in found]

    def layout(self, text):
        return self.complaints("a.c", text)

    def words(self, name, text):
        return self.complaints(name, text, "--words")

    def test_usage(self):
        for arguments in ([], ["--nothing", "a.c"]):
            with self.assertRaises(SystemExit) as ended:
                style.main(arguments)
            self.assertIn("usage: ci/check_style FILE", ended.exception.code)

    def test_layout(self):
        function = "/* a.c: a. */\nint f(void)\n{\n%s}\n"
        self.assertEqual(self.layout(function % ("\tg();\n" * 70)), [])
        self.assertEqual(self.layout(function % ("\tg();\n" * 71)), ["75: function of 71 lines"])
        self.assertEqual(self.layout("int x;\n"), ["1: first line does not say what the file is: /* a.c: ... */"])
        self.assertEqual(self.layout("/* a.c: a. */\nint x; // TO" + "DO\nint y; \n"),
                         ["2: left undone", "3: blank at the end of the line"])
        self.assertEqual(self.layout("/* a.c: a. */\n\t" + "x" * 92 + "\n"), [])
        self.assertEqual(self.layout("/* a.c: a. */\n\t" + "x" * 93 + "\n"), ["0: 1 lines past 100 columns"])

    def test_words(self):
        self.assertEqual(self.words("a.c", PLAIN), [])
        self.assertEqual(sorted(self.words("a.c", NAMES)),
                         ["2: 'hearing' in the name HEARING_MAX", "3: 'nap' in the name nap_until",
                          "3: 'sided' in the name is_sided", "4: 'unison' in the name unison"])
        self.assertEqual(self.words("a.c", COMMENTS),
                         ["1: 'nobody' in a comment", "1: 'whom' in a comment",
                          "1: a comment's sentence begins with 'Whom'", "3: 'whom' in a comment",
                          "3: a comment's sentence begins with 'Of'"])
        for word in ("Who", "Whose", "What", "Whether"):
            self.assertEqual(self.words("a.c", "/* %s waits. */\n" % word), ["1: a comment's sentence begins with '%s'" % word])
        self.assertEqual(self.words("unison.h", ""), ["0: 'unison' in the file's name"])

    def test_scripts(self):
        self.assertEqual(self.words("a.sh", 'echo "nobody" "$#" # stray\nx=1\n# Who waits.\nnap_time=1\n'),
                         ["1: 'stray' in a comment", "3: a comment's sentence begins with 'Who'", "4: 'nap' in the name nap_time"])
        self.assertEqual(self.words("a.py", '"""a.py: somebody."""\nx = "nobody"\nspoil = 1\n'),
                         ["1: 'somebody' in a comment", "3: 'spoil' in the name spoil"])

    def readme(self, text, name="room/README.md"):
        return self.words(name, text)

    def test_readme_sentences(self):
        cells = "| a | b |\n|---|---|\n| %s | %s |\n" % (words(25), words(4))
        items = "- %s\n- %s\n" % (words(20).rstrip("."), words(20))
        code = "    code %s\n\n```\n%s\n```\n" % (words(28)[:140], words(28)[:140])
        link = "[A link](https://%s) and `%s`.\n" % ("long/" * 9, words(14))
        self.assertEqual(self.readme("%s\n%s\n%s\n%s\n%s" % (words(25), cells, items, code, link)), [])
        self.assertEqual(self.readme(words(26)), ["1: a sentence of 26 words, 25 fit: A word word word word ..."])
        self.assertEqual(self.readme("It is.\n\n%s\n%s\n" % (words(14).rstrip("."), words(13))),
                         ["3: a sentence of 27 words, 25 fit: A word word word word ..."])
        self.assertEqual(len(self.readme("| a |\n|---|\n| %s |\n" % words(26))), 1)
        self.assertEqual(self.readme("Nobody reads it.\n"), ["1: 'nobody'"])

    def test_readme_size(self):
        self.assertEqual(self.readme("\u00e4" * 160), [])
        self.assertEqual(self.readme("x" * 161), ["1: 161 characters, 160 fit"])
        self.assertEqual(self.readme("- x\n" * 60), [])
        self.assertEqual(self.readme("- x\n" * 61), ["61: 61 lines, 60 fit"])
        self.assertEqual(self.readme("- x\n" * 150, "README.md"), [])
        self.assertEqual(self.readme("- x\n" * 151, "README.md"), ["151: 151 lines, 150 fit"])


if __name__ == "__main__":
    unittest.main()
