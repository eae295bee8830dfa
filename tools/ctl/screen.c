/* SPDX-License-Identifier: MIT */
#include "tools/ctl/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* Understood by xterm and its like: another screen, no cursor, lines are cut at
 * the right. */
#define BEGIN "\033[?1049h\033[?25l\033[?7l\033[2J"
#define END "\033[?7h\033[?25h\033[?1049l"

static struct termios before;
static bool is_open;
static volatile sig_atomic_t is_over, is_stopping;

static void
put(const char *text, size_t n)
{
	while (n > 0) {
		ssize_t done = write(STDOUT_FILENO, text, n);

		if (done < 0 && errno != EINTR && errno != EAGAIN)
			return;
		if (done > 0) {
			text += done;
			n -= (size_t)done;
		}
	}
}

static void
enter(void)
{
	struct termios raw = before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	put(BEGIN, strlen(BEGIN));
}

static void
leave(void)
{
	put(END, strlen(END));
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static void
on_signal(int number)
{
	/* After SIGWINCH poll(2) returns, and the next display has the new
	 * size. */
	if (number == SIGTSTP)
		is_stopping = 1;
	else if (number != SIGWINCH)
		is_over = 1;
}

static void
catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT,
		SIGTSTP, SIGWINCH };
	const struct sigaction a = { .sa_handler = on_signal };

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		sigaction(numbers[i], &a, NULL);
}

enum status
screen_open(void)
{
	const char *kind = getenv("TERM");

	if (kind == NULL || *kind == '\0' || strcmp(kind, "dumb") == 0 ||
	    tcgetattr(STDIN_FILENO, &before) != 0 || !isatty(STDOUT_FILENO))
		return E_IO;
	is_over = is_stopping = 0;
	catch_signals();
	enter();
	is_open = true;
	(void)atexit(screen_close);
	return OK;
}

void
screen_close(void)
{
	if (is_open)
		leave();
	is_open = false;
}

void
screen_draw(const char *text, size_t n)
{
	const char *end;

	put("\033[H", 3);
	while (n > 0) {
		end = memchr(text, '\n', n);
		size_t len = end == NULL ? n : (size_t)(end - text);

		put(text, len);
		put("\033[K", 3);
		text += len;
		n -= len;
		if (n > 0) {
			text++;
			n--;
			if (n > 0)
				put("\r\n", 2);
		}
	}
	put("\033[J", 3);
}

/* Ctrl-Z: restore the terminal for the shell until we continue. */
static void
stop_for_a_while(void)
{
	is_stopping = 0;
	leave();
	(void)raise(SIGSTOP);
	enter();
}

static int
decode_key(const char *s, size_t n)
{
	static const struct {
		const char *bytes;
		int key;
	} keys[] = {
		{ "\033[A", KEY_UP },
		{ "\033OA", KEY_UP },
		{ "\033[B", KEY_DOWN },
		{ "\033OB", KEY_DOWN },
		{ "\033[5~", KEY_PAGE_UP },
		{ "\033[6~", KEY_PAGE_DOWN },
		{ "\033[H", KEY_HOME },
		{ "\033[1~", KEY_HOME },
	};

	if (s[0] != '\033')
		return (unsigned char)s[0];
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (strlen(keys[i].bytes) == n &&
		    memcmp(keys[i].bytes, s, n) == 0)
			return keys[i].key;
	return 0;
}

/* Read a character, or all bytes of a key. */
static int
read_key(void)
{
	char s[8];
	ssize_t n = read(STDIN_FILENO, s, 1);
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	/* The terminal is gone. */
	if (n <= 0) {
		is_over = n == 0 || (errno != EINTR && errno != EAGAIN);
		return 0;
	}
	if (s[0] == '\033' && poll(&p, 1, 20) > 0) {
		ssize_t more = read(STDIN_FILENO, s + 1, sizeof(s) - 1);

		n += more > 0 ? more : 0;
	}
	return decode_key(s, (size_t)n);
}

int
screen_key(int ms)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	int n;

	if (is_stopping)
		stop_for_a_while();
	n = poll(&p, 1, ms);
	if (is_stopping)
		stop_for_a_while();
	return n > 0 ? read_key() : 0;
}

bool
screen_is_over(void)
{
	return is_over;
}
