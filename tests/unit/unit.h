/* SPDX-License-Identifier: Apache-2.0 */
/* unit.h - cmocka and the headers that it wants before itself. */
#ifndef TH_TESTS_UNIT_H
#define TH_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
