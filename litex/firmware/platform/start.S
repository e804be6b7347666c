/* SPDX-License-Identifier: Apache-2.0 */
/* The first instructions: stack, traps, zeroed variables, main. Machine mode, one hart, interrupts off. */

	.section .text.start, "ax"
	.globl	_start
_start:
	la	sp, stack_end
	la	t0, trap
	csrw	mtvec, t0
	la	t0, bss_start
	la	t1, bss_end
clear:
	bgeu	t0, t1, run
	sw	zero, 0(t0)
	addi	t0, t0, 4
	j	clear
run:
	call	main
	call	done

	/* mtvec's lowest two bits are a mode. */
	.balign	4
trap:
	la	sp, stack_end
	csrr	a0, mcause
	csrr	a1, mepc
	csrr	a2, mtval
	call	trapped
