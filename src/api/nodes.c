/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.c - what this runtime says of itself to the others of its store. */
#include "api/api.h"
#include "base/label.h"

struct said {
	struct th_node me;
	struct th_runtime_far far;
};

static int read_option(const char *name, const char *value, struct said *said,
		       struct thole_error *err)
{
	struct th_node *me = &said->me;
	const struct {
		const char *name, **to;
	} files[] = {
		{ "cert", &said->far.cert },
		{ "key", &said->far.key },
		{ "ca", &said->far.ca },
	};
	int code;

	for (size_t i = 0; i < TH_COUNT(files); i++)
		if (strcmp(name, files[i].name) == 0) {
			*files[i].to = value;
			return th_api_text(value, name, 1, TH_PATH_LEN_MAX - 1, err);
		}
	if (strcmp(name, "notify") == 0) {
		me->notify = th_str_of(value);
		return th_api_text(value, name, 1, TH_STORE_URL_MAX, err);
	}
	code = th_api_text(value, name, 1, TH_FLEET_TEXT_MAX, err);
	if (code)
		return code;
	if (strcmp(name, "name") == 0)
		me->name = th_str_of(value);
	else if (strcmp(name, "address") == 0)
		me->address = th_str_of(value);
	else if (strcmp(name, "executors") == 0)
		said->far.place = th_str_of(value);
	else if (strcmp(name, "draining") == 0)
		me->draining = strcmp(value, "yes") == 0;
	else if (strcmp(name, "capacity") != 0)
		return th_api_fail(err, TH_EUSAGE, "there is no option \"%.64s\"", name);
	else if (!th_str_i64(th_str_of(value), &me->capacity) || me->capacity < 0)
		return th_api_fail(err, TH_EUSAGE, "capacity is a number, 0 or more");
	return TH_OK;
}

int thole_runtime_labels(struct thole_runtime *rt, const char *labels, struct thole_error *err)
{
	struct th_str list[TH_LABELS_MAX + 1], rest = { 0 };
	struct th_strs all = { .list = list };
	const char *fault;
	size_t at = 0;
	int code = th_api_enter(rt, err);

	if (!code)
		code = th_api_text(labels, "the labels", 0, TH_LABELS_TEXT_MAX, err);
	if (code)
		return code;
	rest = th_str_of(labels);
	while (all.count < TH_COUNT(list) && rest.len) {
		list[all.count] = th_label_next(&rest);
		all.count += list[all.count].len > 0;
	}
	fault = th_labels_fault(&all, &at);
	if (fault)
		return th_api_fail(err, all.count > TH_LABELS_MAX ? TH_ELIMIT : TH_EUSAGE,
				   "label %zu %s", at + 1, fault);
	th_runtime_labels(rt->rt, th_str_of(labels));
	return TH_OK;
}

int thole_runtime_announce(struct thole_runtime *rt, const char *const *options,
			   struct thole_error *err)
{
	struct said said = { 0 }; /* its labels were said before */
	struct th_err e = { 0 };
	struct th_store *store;
	enum th_code bad;
	int code = th_api_enter(rt, err);

	for (; !code && options && *options; options += 2) {
		code = th_api_text(*options, "an option's name", 1, TH_FLEET_TEXT_MAX, err);
		if (!code)
			code = read_option(options[0], options[1], &said, err);
	}
	if (code)
		return code;
	said.me.labels = th_runtime_labels_of(rt->rt);
	store = th_runtime_store(rt->rt);
	if (!store->kind->announce)
		return th_api_fail(err, TH_EUNSUPPORTED,
				   "the store is of this machine alone; a fleet has its log on "
				   "PostgreSQL");
	if (!said.far.place.len != !said.far.cert || !said.far.cert != !said.far.key ||
	    !said.far.cert != !said.far.ca)
		return th_api_fail(err, TH_EUSAGE,
				   "executors, cert, key and ca go together: all four, or none");
	bad = said.far.cert ? th_runtime_far(rt->rt, &said.far, &e) : TH_OK;
	if (!bad)
		bad = store->kind->announce(store, &said.me, &e);
	return th_api_out(bad, &e, err);
}
