// SPDX-License-Identifier: Apache-2.0
#include "init.h"

static void mount_on(const char *what, const char *where)
{
	mkdir(where, 0755);
	if (mount(what, where, what, 0, NULL))
		die("%s cannot be mounted (errno %d)", what, errno);
}

int main(void)
{
	const char *shell = getenv("hwswap_shell");
	struct plan plan;

	report("{\"kind\":\"init\"}");
	mount_on("proc", "/proc");
	mount_on("sysfs", "/sys");
	mount_on("debugfs", "/sys/kernel/debug");
	mount_on("devtmpfs", "/dev");
	if (shell && strcmp(shell, "after") && strcmp(shell, "only") && strcmp(shell, "none"))
		die("hwswap_shell= on the kernel's command line takes after, only or none, not '%s'", shell);
	finish_shell = !shell || strcmp(shell, "none");
	if (shell && !strcmp(shell, "only"))
		shell_run();
	plan = plan_read(0, NULL);
	plan_run(&plan);
	finish(0);
}
