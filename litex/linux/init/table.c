// SPDX-License-Identifier: Apache-2.0
#include "init.h"

#ifndef CPU_CLOCK
#define CPU_CLOCK "/proc/device-tree/cpus/cpu@0/clock-frequency"
#endif

#define MODES_MAX 8
#define ORDERS 10
#define FULL ORDERS /* the row of order 0 on an area that is nearly full */
#define LABEL_CHARS 34
#define CELL_CHARS 20

struct call {
	unsigned long n, avg, p50, placed;
};

/* Counters of the driver's `stats`, and behind them what `verify` says. */
static const char *const count_names[] = {"grant_units", "grants_popped", "grants_claimed",    "grants_stray",
					  "shadow_same", "shadow_good",	  "shadow_stale",      "fills",
					  "clears",	 "fills_busy",	  "mirror_differences"};
#define COUNTS (sizeof(count_names) / sizeof(*count_names))

/* What one mode gave. */
struct column {
	char mode[16];
	struct swapped sum;
	unsigned long pages[2], out_ns[2], in_ns[2]; /* of 4 kB folios, of 64 kB folios */
	struct call calls[ORDERS + 1][2];	     /* allocate, free; the last: order 0, nearly full */
	unsigned long counts[COUNTS];
	unsigned int counted;
};

static struct column columns[MODES_MAX];
static unsigned int used;

static struct column *column_of(const char *mode)
{
	for (unsigned int i = 0; i < used; i++) {
		if (!strcmp(columns[i].mode, mode))
			return &columns[i];
	}
	if (used == MODES_MAX)
		die("there are more than %d modes", MODES_MAX);
	strlcpy(columns[used].mode, mode, sizeof(columns[used].mode));
	return &columns[used++];
}

void table_swap(const char *mode, bool folios, unsigned long pages, const struct swapped *sum)
{
	struct column *column = column_of(mode);

	column->sum.pages_out += sum->pages_out;
	column->sum.pages_in += sum->pages_in;
	column->sum.whole_folios += sum->whole_folios;
	column->sum.verified += sum->verified;
	column->sum.wrong += sum->wrong;
	column->pages[folios] += pages;
	column->out_ns[folios] += sum->out_ns;
	column->in_ns[folios] += sum->in_ns;
}

/* The number behind "name": in an object of JSON. */
static unsigned long member(const char *object, const char *name)
{
	char key[32];
	const char *at;

	snprintf(key, sizeof(key), "\"%s\":", name);
	at = strstr(object, key);
	return at ? strtoul(at + strlen(key), NULL, 10) : 0;
}

void table_bench(const char *mode, const char *line, bool full)
{
	unsigned long order = member(line, "order");
	struct call *call;

	if (order >= ORDERS)
		return;
	call = &column_of(mode)->calls[full ? FULL : order][!strstr(line, "\"op\":\"alloc\"")];
	call->n = member(line, "n");
	call->avg = member(line, "avg");
	call->p50 = member(line, "p50");
	call->placed = member(line, "granted");
}

static void count(const char *mode, unsigned int name, unsigned long value)
{
	struct column *column = column_of(mode);

	column->counts[name] = value;
	column->counted |= 1U << name;
}

void table_driver(const char *mode)
{
	for (unsigned int i = 0; i < COUNTS - 1; i++)
		count(mode, i, read_counter(DRIVER_FILES "stats", count_names[i]));
}

void table_tuned(const char *mode, unsigned long fills, unsigned long clears)
{
	for (unsigned int i = 0; i < COUNTS; i++) {
		if (!strcmp(count_names[i], "fills"))
			count(mode, i, fills);
		else if (!strcmp(count_names[i], "clears"))
			count(mode, i, clears);
	}
}

void table_mirror(const char *mode, unsigned long differences)
{
	count(mode, COUNTS - 1, differences);
}

/* 1234567 as "1,234,567". */
static const char *grouped(unsigned long value)
{
	static char texts[2][32];
	static unsigned int turn;
	char *at = texts[turn ^= 1] + sizeof(texts[0]) - 1;

	*at = '\0';
	for (unsigned int digits = 0; !digits || value; digits++, value /= 10) {
		if (digits && digits % 3 == 0)
			*--at = ',';
		*--at = '0' + value % 10;
	}
	return at;
}

/* "grant_units" as "grant units". */
static const char *spaced(const char *name)
{
	static char text[LABEL_CHARS];

	strlcpy(text, name, sizeof(text));
	for (char *at = text; (at = strchr(at, '_'));)
		*at = ' ';
	return text;
}

/* Lines are put together before they are written: the kernel may speak between two writes. */
static char line[LABEL_CHARS + 2 * MODES_MAX * CELL_CHARS + 2];
static size_t length;

static void put(const char *text, size_t width, bool right)
{
	size_t chars = strlen(text), gap = chars < width ? width - chars : 0;

	if (length + chars + gap > sizeof(line) - 2)
		return;
	if (right) {
		memset(line + length, ' ', gap);
		length += gap;
	}
	memcpy(line + length, text, chars);
	length += chars;
	if (!right) {
		memset(line + length, ' ', gap);
		length += gap;
	}
}

static void end_line(void)
{
	line[length++] = '\n';
	write(STDOUT_FILENO, line, length);
	length = 0;
}

static void titles(bool ratios)
{
	put("", LABEL_CHARS, false);
	for (unsigned int i = 0; i < used; i++) {
		put(columns[i].mode, CELL_CHARS, true);
		if (ratios && i)
			put("ratio", 8, true);
	}
	end_line();
}

static void numbers(const char *title, size_t member_at)
{
	put(title, LABEL_CHARS, false);
	for (unsigned int i = 0; i < used; i++)
		put(grouped(*(unsigned long *)((char *)&columns[i] + member_at)), CELL_CHARS, true);
	end_line();
}

/* What the CPU's clock is, as the device tree has it: big endian, in Hz. */
static unsigned long clock_hz(void)
{
	int fd = open(CPU_CLOCK, O_RDONLY);
	unsigned char cells[4];
	unsigned long hz = 0;

	if (fd < 0)
		return 0;
	if (read(fd, cells, sizeof(cells)) == sizeof(cells)) {
		for (unsigned int i = 0; i < sizeof(cells); i++)
			hz = hz << 8 | cells[i];
	}
	close(fd);
	return hz;
}

static void per_page(const char *title, bool folios, bool in)
{
	unsigned long mhz = clock_hz() / 1000000;

	put(title, LABEL_CHARS, false);
	for (unsigned int i = 0; i < used; i++) {
		const struct column *column = &columns[i];
		unsigned long ns = in ? column->in_ns[folios] : column->out_ns[folios], pages = column->pages[folios];

		put(pages && mhz ? grouped(ns / 1000 * mhz / pages) : "-", CELL_CHARS, true);
	}
	end_line();
}

static void swap_table(void)
{
	puts("Swapped and verified, by mode");
	titles(false);
	numbers("pages out", offsetof(struct column, sum.pages_out));
	numbers("pages in", offsetof(struct column, sum.pages_in));
	numbers("64 kB folios out whole", offsetof(struct column, sum.whole_folios));
	numbers("bytes verified", offsetof(struct column, sum.verified));
	numbers("bytes wrong", offsetof(struct column, sum.wrong));
	per_page("CPU cycles a page out, 4 kB", false, false);
	per_page("CPU cycles a page in, 4 kB", false, true);
	per_page("CPU cycles a page out, 64 kB", true, false);
	per_page("CPU cycles a page in, 64 kB", true, true);
	for (unsigned int name = 0; name < COUNTS; name++) {
		bool any = false;

		for (unsigned int i = 0; i < used; i++)
			any |= columns[i].counted >> name & 1;
		if (!any)
			continue;
		put(spaced(count_names[name]), LABEL_CHARS, false);
		for (unsigned int i = 0; i < used; i++)
			put(columns[i].counted >> name & 1 ? grouped(columns[i].counts[name]) : "-", CELL_CHARS, true);
		end_line();
	}
}

static const char *order_name(unsigned int order)
{
	static char text[32];

	if (order == FULL)
		return "order 0, 90 % full";
	snprintf(text, sizeof(text), "order %u", order);
	return text;
}

static void call_line(unsigned int order, bool is_free)
{
	unsigned long first = columns[0].calls[order][is_free].avg;
	char text[64];

	snprintf(text, sizeof(text), "%s %s", is_free ? "free" : "allocate", order_name(order));
	put(text, LABEL_CHARS, false);
	for (unsigned int i = 0; i < used; i++) {
		const struct call *call = &columns[i].calls[order][is_free];

		snprintf(text, sizeof(text), "%s (%s)", grouped(call->avg), grouped(call->p50));
		put(call->n ? text : "-", CELL_CHARS, true);
		if (!i)
			continue;
		snprintf(text, sizeof(text), "%lu.%02lu", first ? (call->avg * 100 + first / 2) / first / 100 : 0,
			 first ? (call->avg * 100 + first / 2) / first % 100 : 0);
		put(call->n && first ? text : "-", 8, true);
	}
	end_line();
}

static bool benched(unsigned int order)
{
	for (unsigned int i = 0; i < used; i++) {
		if (columns[i].calls[order][0].n)
			return true;
	}
	return false;
}

static void calls_table(void)
{
	char text[48];
	bool any = false;

	for (unsigned int order = 0; order <= FULL; order++)
		any |= benched(order);
	if (!any)
		return;
	puts("Folios of the bench that the engine placed");
	titles(false);
	for (unsigned int order = 0; order <= FULL; order++) {
		if (!benched(order))
			continue;
		put(order_name(order), LABEL_CHARS, false);
		for (unsigned int i = 0; i < used; i++) {
			const struct call *call = &columns[i].calls[order][0];

			snprintf(text, sizeof(text), "%lu of %lu", call->placed, call->n);
			put(call->n ? text : "-", CELL_CHARS, true);
		}
		end_line();
	}
	puts("CPU cycles a call: mean over all calls (median), ratio of means to software");
	titles(true);
	for (unsigned int order = 0; order <= FULL; order++) {
		if (!benched(order))
			continue;
		call_line(order, false);
		call_line(order, true);
	}
}

void table_print(void)
{
	if (!used)
		return;
	swap_table();
	calls_table();
}
