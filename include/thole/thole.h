/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thole: a native runtime for agents that use computers.
 *
 * The public C API: opaque types, C11.  Every name begins with thole_ or THOLE_; TH_API marks what
 * the shared library exports.
 */
#ifndef THOLE_THOLE_H
#define THOLE_THOLE_H

#if defined(__GNUC__)
#define TH_API __attribute__((visibility("default")))
#else
#define TH_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that is running, "MAJOR.MINOR.PATCH". The string is static. */
TH_API const char *thole_version(void);

#ifdef __cplusplus
}
#endif

#endif
