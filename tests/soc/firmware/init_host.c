/* SPDX-License-Identifier: Apache-2.0 */
/* The initramfs's program on the host: its shell. */
#include "init.h"

int main(void) {
  /* As nolibc's standard output is. */
  setvbuf(stdout, NULL, _IONBF, 0);
  shell_run();
}
