// SPDX-License-Identifier: Apache-2.0
// A small shell: commands of words and quotes, several on a line behind ';', the output to a file with '>' or '>>'. It
// has no pipes and no variables; what takes long is ended with Ctrl-C.
#include "init.h"

#include <sys/ioctl.h>
#include <sys/wait.h>

#define LINE_BYTES 1024
#define WORDS_MAX 64
#define TIOCSCTTY_CMD 0x540E

/* A command, with its words in a buffer of their own. */
struct order {
	int count;
	char *words[WORDS_MAX + 1];
	char *output;
	bool append;
	char text[LINE_BYTES + WORDS_MAX];
	char *free; /* where the next word goes */
};

/* Takes a word off the line; returns NULL when a quote in it is not closed. */
static char *take_word(const char **line, struct order *order)
{
	char *word = order->free, *to = word, quote = '\0';
	const char *at = *line;

	for (; *at && (quote || (!isspace(*at) && *at != ';' && *at != '>')); at++) {
		if (quote ? *at == quote : *at == '"' || *at == '\'')
			quote = quote ? '\0' : *at;
		else
			*to++ = *at;
	}
	*to = '\0';
	order->free = to + 1;
	*line = at;
	return quote ? NULL : word;
}

/* Takes a command off the line, up to its end or a ';'; returns what is wrong with it, or NULL. */
static const char *take_order(const char **line, struct order *order)
{
	order->count = 0;
	order->output = NULL;
	order->free = order->text;
	for (;;) {
		bool file = false;
		char *word;

		while (isspace(**line))
			(*line)++;
		if (!**line || **line == '#') {
			*line += strlen(*line);
			break;
		}
		if (**line == ';') {
			(*line)++;
			break;
		}
		if (**line == '>') {
			file = true;
			order->append = (*line)[1] == '>';
			*line += order->append ? 2 : 1;
			while (isspace(**line))
				(*line)++;
		}
		word = take_word(line, order);
		if (!word)
			return "a quote is not closed";
		if (file && !*word)
			return "a file's name is missing behind '>'";
		if (file)
			order->output = word;
		else if (order->count == WORDS_MAX)
			return "there are too many words";
		else
			order->words[order->count++] = word;
	}
	order->words[order->count] = NULL;
	return order->output && !order->count ? "there is no command before '>'" : NULL;
}

static const struct command *find(const char *name)
{
	for (const struct command *command = commands; command->name; command++) {
		if (!strcmp(command->name, name))
			return command;
	}
	return NULL;
}

/* The process of a command. */
__attribute__((noreturn)) static void become(const struct command *command, const struct order *order)
{
	if (order->output) {
		int fd = open(order->output, O_WRONLY | O_CREAT | (order->append ? O_APPEND : O_TRUNC), 0644);

		if (fd < 0)
			die("%s cannot be written (errno %d)", order->output, errno);
		dup2(fd, STDOUT_FILENO);
		close(fd);
	}
	exit(command->run(order->count, (char **)order->words));
}

static void obey(const struct order *order)
{
	const struct command *command = find(order->words[0]);
	int status;
	pid_t child;

	if (!command) {
		printf("there is no command '%s'; help lists those there are\n", order->words[0]);
		return;
	}
	child = fork();
	if (!child)
		become(command, order);
	if (child < 0) {
		printf("no process can be had for '%s' (errno %d)\n", command->name, errno);
		return;
	}
	while (waitpid(child, &status, 0) != child)
		;
	if (WTERMSIG(status))
		printf("%s was ended by signal %d\n", command->name, WTERMSIG(status));
}

/* Reads a line; returns false at the end of the input. */
static bool read_line(char *line)
{
	size_t length = 0;
	ssize_t part;

	while ((part = read(STDIN_FILENO, line + length, 1)) == 1 && line[length] != '\n') {
		/* What is too long for a line is left out. */
		if (length < LINE_BYTES - 1)
			length++;
	}
	line[length] = '\0';
	return part == 1 || length;
}

void shell_run(void)
{
	static struct order order;
	static char line[LINE_BYTES];

	/* A terminal of its own, so that Ctrl-C reaches what runs; init itself is not ended by it. */
	setsid();
	ioctl(STDIN_FILENO, TIOCSCTTY_CMD, 0);
	printf("A shell; help lists the commands.\n");
	for (;;) {
		const char *rest = line, *wrong = NULL;

		write(STDOUT_FILENO, PROMPT, strlen(PROMPT));
		if (!read_line(line)) {
			if (getpid() != 1)
				exit(0);
			sleep(1);
			continue;
		}
		while (*rest && !wrong) {
			wrong = take_order(&rest, &order);
			if (wrong)
				printf("%s\n", wrong);
			else if (order.count)
				obey(&order);
		}
	}
}
