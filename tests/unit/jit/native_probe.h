/* SPDX-License-Identifier: Apache-2.0
 * native_probe.h: the executor of machine code of this build, and a call that fills every callee-saved register before a native
 * function and hands them out after it. */
#ifndef RDN_NATIVE_PROBE_H
#define RDN_NATIVE_PROBE_H
#include "base/cpu.h"
#include "base/fpmode.h"
#include "jit/unit.h"

#if defined(__aarch64__)
#define NATIVE "a64"
#define PROBE_LACKS ((const char *)NULL)
enum { PROBE_SAVED = 19 };                               /* x19 to x29, d8 to d15 */
#else
#define NATIVE "x64"
#define PROBE_LACKS rdn_cpu_lacks(RDN_CPU_AVX2)
enum { PROBE_SAVED = 6 };                                /* rbx, rbp, r12 to r15 */
#endif
/* upper: the upper halves of all ymm, ORed; they were clear before. */
struct probe { uint64_t saved[PROBE_SAVED], sp_before, sp_after; uint32_t fpmode, zero; uint64_t upper[2]; };
/* Register i holds (i + 1) times 0x1111111111111111 when f begins. */
void call_probe(rdn_native *f, void *block, const uint8_t *row, struct probe *ret);

#if defined(__aarch64__)
__asm__(".text\n.globl call_probe\n.type call_probe,%function\ncall_probe:\n"
        "  stp x29, x30, [sp, #-176]!\n stp x19, x20, [sp, #16]\n stp x21, x22, [sp, #32]\n stp x23, x24, [sp, #48]\n"
        "  stp x25, x26, [sp, #64]\n stp x27, x28, [sp, #80]\n stp d8, d9, [sp, #96]\n stp d10, d11, [sp, #112]\n"
        "  stp d12, d13, [sp, #128]\n stp d14, d15, [sp, #144]\n str x3, [sp, #160]\n"
        "  mov x16, x0\n mov x0, x1\n mov x1, x2\n mov x9, sp\n str x9, [x3, #152]\n"
        "  mov x19, #0x1111111111111111\n mov x9, x19\n add x20, x19, x9\n add x21, x20, x9\n add x22, x21, x9\n add x23, x22, x9\n"
        "  add x24, x23, x9\n add x25, x24, x9\n add x26, x25, x9\n add x27, x26, x9\n add x28, x27, x9\n add x29, x28, x9\n"
        "  add x10, x29, x9\n fmov d8, x10\n add x10, x10, x9\n fmov d9, x10\n add x10, x10, x9\n fmov d10, x10\n"
        "  add x10, x10, x9\n fmov d11, x10\n add x10, x10, x9\n fmov d12, x10\n add x10, x10, x9\n fmov d13, x10\n"
        "  add x10, x10, x9\n fmov d14, x10\n add x10, x10, x9\n fmov d15, x10\n"
        "  blr x16\n"
        "  ldr x3, [sp, #160]\n stp x19, x20, [x3]\n stp x21, x22, [x3, #16]\n stp x23, x24, [x3, #32]\n stp x25, x26, [x3, #48]\n"
        "  stp x27, x28, [x3, #64]\n str x29, [x3, #80]\n stp d8, d9, [x3, #88]\n stp d10, d11, [x3, #104]\n stp d12, d13, [x3, #120]\n"
        "  stp d14, d15, [x3, #136]\n mov x9, sp\n str x9, [x3, #160]\n mrs x9, fpcr\n str w9, [x3, #168]\n stp xzr, xzr, [x3, #176]\n"
        "  ldp x19, x20, [sp, #16]\n ldp x21, x22, [sp, #32]\n ldp x23, x24, [sp, #48]\n ldp x25, x26, [sp, #64]\n ldp x27, x28, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n ldp d10, d11, [sp, #112]\n ldp d12, d13, [sp, #128]\n ldp d14, d15, [sp, #144]\n"
        "  ldp x29, x30, [sp], #176\n ret\n");
#else
__asm__(".text\n.globl call_probe\n.type call_probe,@function\ncall_probe:\n"
        "  push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n push %rcx\n"
        "  mov %rdi, %rax\n mov %rsi, %rdi\n mov %rdx, %rsi\n mov %rsp, 48(%rcx)\n"
        "  mov $0x1111111111111111, %rbx\n mov $0x2222222222222222, %rbp\n mov $0x3333333333333333, %r12\n"
        "  mov $0x4444444444444444, %r13\n mov $0x5555555555555555, %r14\n mov $0x6666666666666666, %r15\n"
        "  vzeroupper\n call *%rax\n"
        "  mov (%rsp), %rcx\n mov %rbx, (%rcx)\n mov %rbp, 8(%rcx)\n mov %r12, 16(%rcx)\n mov %r13, 24(%rcx)\n mov %r14, 32(%rcx)\n"
        "  mov %r15, 40(%rcx)\n mov %rsp, 56(%rcx)\n stmxcsr 64(%rcx)\n"
        ".irp n,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n vorpd %ymm\\n, %ymm0, %ymm0\n .endr\n"
        "  vextractf128 $1, %ymm0, 72(%rcx)\n vzeroupper\n"
        "  pop %rcx\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n ret\n");
#endif
#endif
