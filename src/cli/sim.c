/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim.c - thole sim: many small worlds, each drawn from its seed, and what did
 * not hold in them.
 */
#include "cli/sim.h"

#include <time.h>

#include "base/limits.h"
#include "cli/cli.h"
#include "sim/fleet.h"
#include "sim/world.h"

#define SHOWN_MAX 20

struct sim_options {
	int64_t seed, count;
	struct th_str variant;
	bool trace, fleet;
};

static const struct th_option sim_options[] = {
	{ "seed", 0, "N", TH_OPTION_INT, offsetof(struct sim_options, seed),
	  "the first seed (default: 1)", NULL },
	{ "count", 0, "M", TH_OPTION_INT, offsetof(struct sim_options, count),
	  "how many seeds (default: 1 when --seed is given, else 1000)", NULL },
	{ "variant", 0, "NAME", TH_OPTION_TEXT, offsetof(struct sim_options, variant),
	  "break it on purpose, up to the first seed that is caught",
	  "no-intent outcome-first no-fencing no-journal repeat-on-recovery ack-before-sync "
	  "any-journal "
	  "damage-unseen journal-unsynced no-verdict child-unbound child-unseen no-refusal "
	  "no-epoch local-clock renewal-ignored notify-trusted" },
	{ "fleet", 0, NULL, TH_OPTION_FLAG, offsetof(struct sim_options, fleet),
	  "nodes on one database: leases, hand-overs, clocks, partitions; its variants are the "
	  "last "
	  "four",
	  NULL },
	{ "trace", 0, NULL, TH_OPTION_FLAG, offsetof(struct sim_options, trace),
	  "tell the story, step by step", NULL },
	TH_OPTIONS_END,
};

static void print_counts(const struct th_sim_counts *c, double cpu_s)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf out = TH_BUF_INIT(4 * TH_KIB);

	th_sim_counts_print(c, cpu_s, &out);
	(void)th_cli_print(&out, 0);
}

static int variant_of(struct th_str name)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf names = TH_BUF_INIT(TH_KIB);
	int v = name.len ? th_sim_variant_find(name) : TH_SIM_NONE;

	for (int i = 0; i < TH_SIM_VARIANT_COUNT; i++)
		th_buf_printf(&names, "%s%s", i ? ", " : "",
			      th_sim_variant_name((enum th_sim_variant)i));
	if (v < 0)
		(void)th_cli_die(2, "no variant \"%.*s\"; there are %s", TH_FMT(name), names.ptr);
	return v;
}

static void print_failure(const struct th_sim_options *o, const char *failure)
{
	printf("%s sim --seed %llu", th_cli_program(), (unsigned long long)o->seed);
	if (o->variant != TH_SIM_NONE)
		printf(" --variant %s", th_sim_variant_name(o->variant));
	printf("   %s\n", failure);
}

static int sim(const struct sim_options *options)
{
	struct th_sim_counts counts = { 0 };
	int variant = variant_of(options->variant);
	struct th_sim_options o = { .trace = options->trace ? stdout : NULL };
	uint64_t first = options->seed >= 0 ? (uint64_t)options->seed : 1;
	uint64_t count = options->count >= 0  ? (uint64_t)options->count
			 : options->seed >= 0 ? 1
					      : 1000;
	clock_t began = clock();
	char failure[TH_ERR_MSG_MAX];
	bool caught;

	if (variant < 0)
		return 2;
	o.variant = (enum th_sim_variant)variant;
	for (uint64_t i = 0; i < count; i++) {
		o.seed = first + i;
		if (th_sim_run(&o, &counts, failure))
			continue;
		if (counts.failed_seeds <= SHOWN_MAX)
			print_failure(&o, failure);
		if (o.variant != TH_SIM_NONE)
			break;
	}
	fflush(stdout);
	print_counts(&counts, (double)(clock() - began) / CLOCKS_PER_SEC);
	caught = counts.failed_seeds > 0;
	if (o.variant != TH_SIM_NONE && !caught)
		return th_cli_die(1, "the broken variant %s was not caught within %llu seeds",
				  th_sim_variant_name(o.variant), (unsigned long long)count);
	return o.variant == TH_SIM_NONE && caught ? 1 : 0;
}

static int sim_fleet(const struct sim_options *options)
{
	struct th_sim_fleet_counts c = { 0 };
	int variant =
	    options->variant.len ? th_sim_fleet_variant_find(options->variant) : TH_SIM_FLEET_NONE;
	uint64_t first = options->seed >= 0 ? (uint64_t)options->seed : 1;
	uint64_t count = options->count >= 0  ? (uint64_t)options->count
			 : options->seed >= 0 ? 1
					      : 1000;
	char failure[TH_ERR_MSG_MAX];

	if (variant < 0)
		return th_cli_die(2, "no variant \"%.*s\" of a fleet; see %s sim --help",
				  TH_FMT(options->variant), th_cli_program());
	for (uint64_t i = 0; i < count; i++) {
		if (th_sim_fleet_run(first + i, (enum th_sim_fleet_variant)variant,
				     options->trace ? stdout : NULL, &c, failure))
			continue;
		if (c.failed <= SHOWN_MAX)
			printf("%s sim --fleet --seed %llu   %s\n", th_cli_program(),
			       (unsigned long long)(first + i), failure);
		if (variant != TH_SIM_FLEET_NONE)
			break;
	}
	printf(
	    "%llu seeds, %llu of them failed: %llu effects, %llu sessions taken over, %llu handed "
	    "over, %llu commits not answered, %llu effects unknown\n",
	    (unsigned long long)c.seeds, (unsigned long long)c.failed,
	    (unsigned long long)c.effects, (unsigned long long)c.takeovers,
	    (unsigned long long)c.handovers, (unsigned long long)c.unknown_commits,
	    (unsigned long long)c.unknown_effects);
	if (variant != TH_SIM_FLEET_NONE && c.failed == 0)
		return th_cli_die(1, "the broken variant %s was not caught within %llu seeds",
				  th_sim_fleet_variant_name((enum th_sim_fleet_variant)variant),
				  (unsigned long long)count);
	return variant == TH_SIM_FLEET_NONE && c.failed > 0 ? 1 : 0;
}

/* Exit status 0: all seeds hold, or with --variant the broken one was caught; 1:
 * not. */
static int run_sim(const struct th_command *self TH_UNUSED, int argc, char **argv)
{
	struct sim_options options = { .seed = -1, .count = -1 };
	struct th_operands operands;
	struct th_err err;
	enum th_code code =
	    th_options_parse(&th_command_sim, argc, argv, &options, &operands, &err);

	if (code == TH_ECANCELED)
		return 0;
	if (code)
		return th_cli_fail(&err);
	if (operands.count > 0)
		return th_cli_die(2, "sim takes no operands");
	return options.fleet ? sim_fleet(&options) : sim(&options);
}

const struct th_command th_command_sim = {
	.name = "sim",
	.operands = "",
	.summary = "simulate crashes and faults, and check what is promised",
	.text =
	    "Runs small worlds on virtual time: sessions, the executor's journal, a model, people "
	    "and a disk, and everything that goes wrong with them, drawn from a seed. What does "
	    "not hold is printed with the line that shows it again.\n"
	    "\n"
	    "Examples:\n"
	    "  thole sim --count 2000\n"
	    "  thole sim --seed 23 --trace\n"
	    "  thole sim --variant no-journal\n"
	    "  thole sim --fleet --count 2000\n",
	.options = sim_options,
	.run = run_sim,
};
