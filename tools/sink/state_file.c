/* SPDX-License-Identifier: MIT */
#include "tools/sink/state_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum status
state_file_read(const char *path, const char *first,
    enum status (*line)(void *arg, char *text), void *arg)
{
	FILE *file = fopen(path, "re");
	enum status st = E_MALFORMED;
	char *text = NULL;
	size_t size = 0;

	if (file == NULL)
		return errno == ENOENT ? OK : E_IO;
	if (getline(&text, &size, file) > 0) {
		text[strcspn(text, "\n")] = '\0';
		st = strcmp(text, first) == 0 ? OK : E_MALFORMED;
	}
	while (st == OK && getline(&text, &size, file) > 0) {
		text[strcspn(text, "\n")] = '\0';
		st = line(arg, text);
	}
	free(text);
	fclose(file);
	return st;
}

enum status
state_file_write(const char *path, const char *text, size_t size)
{
	char *new;
	FILE *file;
	bool is_written;

	if (asprintf(&new, "%s.new", path) < 0)
		return E_IO;
	file = fopen(new, "we");
	is_written = file != NULL &&
		     fchmod(fileno(file), S_IRUSR | S_IWUSR) == 0 &&
		     fwrite(text, 1, size, file) == size && fflush(file) == 0 &&
		     fsync(fileno(file)) == 0;
	if (file != NULL && fclose(file) != 0)
		is_written = false;
	if (is_written)
		is_written = rename(new, path) == 0;
	free(new);
	return is_written ? OK : E_IO;
}
