/* SPDX-License-Identifier: Apache-2.0 */
/* python_kernel.h - the program of the tool `python`: python_kernel.py, made a text of C by the
 * build. */
#ifndef TH_TOOLS_PYTHON_KERNEL_H
#define TH_TOOLS_PYTHON_KERNEL_H

extern const char th_python_kernel[];

#endif
