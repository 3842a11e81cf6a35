#include "textflag.h"

// func clone(flags uintptr) (pid, errno uintptr)
// The return address is in a register meanwhile: a child that shares our memory overwrites where it would lie.
TEXT ·clone(SB),NOSPLIT|NOFRAME,$0-24
	MOVQ	flags+0(FP), DI
	MOVQ	$0, SI
	MOVQ	$0, DX
	MOVQ	$0, R10
	MOVQ	$0, R8
	MOVQ	$0, R9
	MOVQ	$56, AX
	POPQ	R12
	SYSCALL
	PUSHQ	R12
	MOVQ	$0, errno+16(FP)
	CMPQ	AX, $0xfffffffffffff001
	JLS	ok
	NEGQ	AX
	MOVQ	AX, errno+16(FP)
	MOVQ	$0, AX
ok:
	MOVQ	AX, pid+8(FP)
	RET
