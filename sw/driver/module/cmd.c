// SPDX-License-Identifier: GPL-2.0
/*
 * The command ring. Commands are rare (swapon, swapoff, swap tables, searches) and
 * posted one at a time, under hwswap_mutex, by somebody who can sleep.
 */
#include <linux/bitfield.h>
#include <linux/delay.h>
#include <linux/interrupt.h>

#include "arena.h"
#include "cmd.h"
#include "lock.h"
#include "registers.h"
#include "stats.h"
#include "work.h"

/** struct hwswap_command - an entry of the command ring */
struct hwswap_command {
	__le64 head;
	__le64 arg[3];
};

static_assert(sizeof(struct hwswap_command) == HWSWAP_COMMAND_SIZE);

/** struct hwswap_cpl - an entry of the completion ring */
struct hwswap_cpl {
	__le64 result;
	__le64 info;
};

static_assert(sizeof(struct hwswap_cpl) == HWSWAP_COMPLETION_SIZE);

#define HWSWAP_TIMEOUT_MS	10000

/*
 * A time-out also wants to have looked so many times. A guest's clock can run
 * ahead of the world in which its devices are simulated; each look at a register
 * takes a moment there.
 */
#define HWSWAP_MIN_LOOKS	2000

/**
 * hwswap_interrupt - the engine has completed a command, or has stopped
 * @irq: number of the interrupt
 * @data: the struct hwswap
 *
 * Return: whether it was the engine's.
 */
irqreturn_t hwswap_interrupt(int irq, void *data)
{
	struct hwswap *hw = data;
	u64 status = hwswap_read(hw, HWSWAP_REG_IRQ_STATUS);

	if (!status || status == ~0ULL)
		return IRQ_NONE;
	hwswap_write(hw, HWSWAP_REG_IRQ_STATUS, status);
	/* The line must be low before the interrupt controller looks at it again. */
	if (hw->front->on_chip)
		hwswap_read(hw, HWSWAP_REG_IRQ_STATUS);
	if (status & HWSWAP_IRQ_STATUS_ERROR)
		hwswap_doubt(hw, "it has stopped with an error");
	complete(&hw->cmd_done);
	return IRQ_HANDLED;
}

/**
 * hwswap_cmd_reset - start again with empty rings
 * @hw: the engine, reset
 */
void hwswap_cmd_reset(struct hwswap *hw)
{
	memset(hw->cmds.cpu, 0, hw->cmds.size);
	memset(hw->cpls.cpu, 0, hw->cpls.size);
	hw->cmd_count = 0;
	reinit_completion(&hw->cmd_done);
}

static bool hwswap_cpl_there(const struct hwswap_cpl *cpl, u32 number)
{
	bool phase = !(number >> HWSWAP_CMD_LOG2 & 1);

	return FIELD_GET(HWSWAP_COMPLETION_INFO_PHASE, le64_to_cpu(READ_ONCE(cpl->info))) == phase;
}

/* Wait for a completion, by interrupt if there is one; false when it is too late. */
static bool hwswap_cmd_wait(struct hwswap *hw, const struct hwswap_cpl *cpl, u32 number)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(HWSWAP_TIMEOUT_MS);
	unsigned int looks;

	for (looks = 0; ; looks++) {
		if (hwswap_cpl_there(cpl, number))
			return true;
		if (time_after(jiffies, deadline) && looks >= HWSWAP_MIN_LOOKS)
			return false;
		/* A register that reads all ones belongs to a device that is gone. */
		if (hwswap_read(hw, HWSWAP_REG_CMD_HEAD) == ~0ULL)
			return hwswap_cpl_there(cpl, number);
		if (hw->irq && looks < 10)
			wait_for_completion_timeout(&hw->cmd_done, msecs_to_jiffies(20));
		else
			usleep_range(50, 200);
	}
}

/* Put a command into the ring, and ring the bell. */
static struct hwswap_cpl *hwswap_cmd_post(struct hwswap *hw, unsigned int opcode,
					  unsigned int type, unsigned int nr, const u64 arg[3])
{
	u32 slot = hw->cmd_count & ((1U << HWSWAP_CMD_LOG2) - 1);
	struct hwswap_command *cmd = (struct hwswap_command *)hw->cmds.cpu + slot;
	unsigned int i;

	cmd->head = cpu_to_le64(FIELD_PREP(HWSWAP_COMMAND_HEAD_OPCODE, opcode) |
				FIELD_PREP(HWSWAP_COMMAND_HEAD_IRQ, !!hw->irq) |
				FIELD_PREP(HWSWAP_COMMAND_HEAD_TYPE, type) |
				FIELD_PREP(HWSWAP_COMMAND_HEAD_NR, nr));
	for (i = 0; i < ARRAY_SIZE(cmd->arg); i++)
		cmd->arg[i] = cpu_to_le64(arg ? arg[i] : 0);

	hw->cmd_count++;
	/* writeq() orders the command before the doorbell. */
	hwswap_write(hw, HWSWAP_REG_CMD_TAIL, hw->cmd_count);
	return (struct hwswap_cpl *)hw->cpls.cpu + slot;
}

/* The completion is there: is it that of the command? */
static bool hwswap_cpl_fits(const struct hwswap_cpl *cpl, u32 number, unsigned int opcode,
			    unsigned int *status)
{
	u64 info;

	/* PHASE was seen: what was written before it can be read now. */
	dma_rmb();
	info = le64_to_cpu(cpl->info);
	*status = FIELD_GET(HWSWAP_COMPLETION_INFO_STATUS, info);
	return FIELD_GET(HWSWAP_COMPLETION_INFO_INDEX, info) == (number & 0xffff) &&
	       FIELD_GET(HWSWAP_COMPLETION_INFO_OPCODE, info) == opcode;
}

/**
 * hwswap_cmd_status - have the engine execute a command that it may refuse
 * @hw: the engine
 * @opcode: HWSWAP_OPCODE_*
 * @type: swap device, or 0
 * @nr: the NR field, or 0
 * @arg: three arguments, or NULL for zeros
 * @result: where RESULT goes, or NULL
 * @status: where STATUS goes, HWSWAP_STATUS_*
 *
 * An engine that does not answer, or answers something else, is no longer
 * trusted after that (hwswap_doubt()).
 *
 * Context: under hwswap_mutex. Sleeps.
 * Return: 0, whatever the status is; -ETIMEDOUT, -EPROTO.
 */
int hwswap_cmd_status(struct hwswap *hw, unsigned int opcode, unsigned int type, unsigned int nr,
		      const u64 arg[3], u64 *result, unsigned int *status)
{
	u32 number = hw->cmd_count;
	struct hwswap_cpl *cpl;

	lockdep_assert_held(&hwswap_mutex);
	if (READ_ONCE(hw->doubt))
		return -EPROTO;

	reinit_completion(&hw->cmd_done);
	cpl = hwswap_cmd_post(hw, opcode, type, nr, arg);
	if (!hwswap_cmd_wait(hw, cpl, number)) {
		hwswap_count(HWSWAP_STAT_TIMEOUTS);
		hwswap_doubt(hw, "it does not answer a command");
		return -ETIMEDOUT;
	}
	if (!hwswap_cpl_fits(cpl, number, opcode, status)) {
		hwswap_doubt(hw, "it answers what was not asked");
		return -EPROTO;
	}
	if (result)
		*result = FIELD_GET(HWSWAP_COMPLETION_RESULT_SLOT, le64_to_cpu(cpl->result));
	return 0;
}

/**
 * hwswap_cmd - have the engine execute a command
 * @hw: the engine
 * @opcode: HWSWAP_OPCODE_*
 * @type: swap device, or 0
 * @nr: the NR field, or 0
 * @arg: three arguments, or NULL for zeros
 *
 * Context: under hwswap_mutex. Sleeps.
 * Return: 0; -EREMOTEIO when the engine refuses the command; -ETIMEDOUT, -EPROTO.
 */
int hwswap_cmd(struct hwswap *hw, unsigned int opcode, unsigned int type, unsigned int nr,
	       const u64 arg[3])
{
	unsigned int status;
	int ret = hwswap_cmd_status(hw, opcode, type, nr, arg, NULL, &status);

	return !ret && status != HWSWAP_STATUS_OK ? -EREMOTEIO : ret;
}
