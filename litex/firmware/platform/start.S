/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first instructions: stack, traps, zeroed variables, main. Machine mode, interrupts off. Hart 0 runs main; the
 * others wait for its work for them (harts.c), where the program is for several, and for ever elsewhere.
 */

	.section .text.start, "ax"
	.globl	_start
_start:
#if __riscv_xlen == 64
	csrr	a0, mhartid
	bnez	a0, other
#endif
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

#if __riscv_xlen == 64
other:
#if SWAP_HARTS > 1
	la	t0, trap
	csrw	mtvec, t0
	/* Stacks lie in the data cache where the first hart's lies (image.ld). */
	la	sp, harts_stacks + 512
	slli	t0, a0, 13
	add	sp, sp, t0
	call	hart_main
#endif
	j	other
#endif

	/* mtvec's lowest two bits are a mode. */
	.balign	4
trap:
	la	sp, stack_end
	csrr	a0, mcause
	csrr	a1, mepc
	csrr	a2, mtval
	call	trapped
