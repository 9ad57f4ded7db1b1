/* tree.c: made-up /proc and /sys. */
#include "rig/tree.h"

static char tree_root[UNIT_TEMP];

static void tree_folders(char *path)
{
	for (char *slash = path + strlen(tree_root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
}

static void tree_add(const struct tree_file *file)
{
	char path[PATH_MAX];
	size_t len = file->len ? file->len : strlen(file->text);
	FILE *out;

	snprintf(path, sizeof(path), "%s%s", tree_root, file->path);
	tree_folders(path);
	if (path[strlen(path) - 1] == '@') {
		path[strlen(path) - 1] = '\0';
		CU_ASSERT_EQUAL_FATAL(symlink(file->text, path), 0);
		return;
	}
	out = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	CU_ASSERT_EQUAL(fwrite(file->text, 1, len, out), len);
	fclose(out);
}

const char *tree_make(const struct tree_file *files)
{
	CU_ASSERT_EQUAL_FATAL(unit_folder(tree_root), 0);
	for (; files->path; files++)
		tree_add(files);
	return tree_root;
}

void tree_remove(void)
{
	CU_ASSERT_EQUAL(unit_remove(tree_root), 0);
}
