/* SPDX-License-Identifier: Apache-2.0 */
/* The initramfs's program on the host: its shell, or its tables of what standard input says was measured. */
#include "init.h"

static unsigned long numbers[8];

/* "swap MODE FOLIOS PAGES OUT IN WHOLE VERIFIED WRONG OUT_NS IN_NS" */
static void swap_line(char *rest) {
  struct swapped sum;
  char *mode = strtok(rest, " ");
  unsigned long folios = strtoul(strtok(NULL, " "), NULL, 10), pages = strtoul(strtok(NULL, " "), NULL, 10);

  for (size_t i = 0; i < 7; i++)
    numbers[i] = strtoul(strtok(NULL, " "), NULL, 10);
  sum = (struct swapped){
      .pages_out = numbers[0],
      .pages_in = numbers[1],
      .whole_folios = numbers[2],
      .verified = numbers[3],
      .wrong = numbers[4],
      .out_ns = numbers[5],
      .in_ns = numbers[6],
  };
  table_swap(mode, folios, pages, &sum);
}

int main(int argc, char **argv) {
  static char line[4096];

  /* As nolibc's standard output is. */
  setvbuf(stdout, NULL, _IONBF, 0);
  if (argc < 2 || strcmp(argv[1], "table"))
    shell_run();
  while (fgets(line, sizeof(line), stdin)) {
    char *rest = strchr(line, ' ') + 1, *mode;

    if (!strncmp(line, "swap ", 5)) {
      swap_line(rest);
      continue;
    }
    mode = strtok(rest, " ");
    rest = strtok(NULL, "\n");
    if (!strncmp(line, "bench", 5) || !strncmp(line, "full", 4))
      table_bench(mode, rest, *line == 'f');
    else
      table_mirror(mode, strtoul(rest, NULL, 10));
  }
  table_print();
  return 0;
}
