/* SPDX-License-Identifier: Apache-2.0 */
/* models.c - thole models: which names are known, and what is known of them. */
#include "base/limits.h"
#include "base/text.h"
#include "cli/cli.h"
#include "models/compose.h"
#include "models/profiles.h"

struct models_options {
	struct th_str config;
	bool json, names;
};

static const struct th_option models_options[] = {
	TH_OPTION_JSON(struct models_options, json),
	{ "names", 0, NULL, TH_OPTION_FLAG, offsetof(struct models_options, names), "patterns only",
	  NULL },
	TH_OPTION_CONFIG(struct models_options, config),
	TH_OPTIONS_END,
};

static const char *computer_name(enum th_computer_tool c)
{
	switch (c) {
	case TH_COMPUTER_NONE:
		return "no";
	case TH_COMPUTER_PREVIEW:
		return "preview tool";
	case TH_COMPUTER_GA:
		return "tool";
	case TH_COMPUTER_FUNCTION:
		return "function";
	case TH_COMPUTER_NATIVE:
		return "native tool";
	case TH_COMPUTER_DIALECT:
		return "dialect";
	case TH_COMPUTER_CLICK:
		return "points only";
	}
	return "no";
}

/* Dollars per million tokens. */
static void add_price(struct th_buf *out, int64_t nano)
{
	th_buf_printf(out, "%.2f", (double)nano / 1e3);
}

static void add_prices(struct th_buf *out, const struct th_price *p)
{
	if (!p->input && !p->output)
		return;
	th_buf_add_char(out, '$');
	add_price(out, p->input);
	th_buf_add_cstr(out, "/$");
	add_price(out, p->output);
}

static void print_row(const struct th_profile *p, struct th_buf *out)
{
	struct th_buf price TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	add_prices(&price, &p->price);
	th_buf_printf(out, "%-28s %-10s %-13s %-14s %s\n", p->name, p->wire->name,
		      computer_name(p->computer), price.ptr, p->pattern);
}

static void print_json(const struct th_profile *p, struct th_str name, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "profile", th_str_of(p->name));
	if (name.len)
		th_jw_kstr(&w, "model", name);
	th_jw_kstr(&w, "pattern", th_str_of(p->pattern));
	th_jw_kstr(&w, "wire", th_str_of(p->wire->name));
	th_jw_kstr(&w, "dialect", th_str_of(p->dialect->name));
	th_jw_kstr(&w, "computer", th_str_of(computer_name(p->computer)));
	th_jw_kbool(&w, "vision", p->vision);
	th_jw_kbool(&w, "reasoning", p->reasoning);
	if (p->context_tokens)
		th_jw_kint(&w, "context_tokens", p->context_tokens);
	if (p->output_tokens)
		th_jw_kint(&w, "output_tokens", p->output_tokens);
	if (p->price.input || p->price.output) {
		th_jw_key(&w, TH_STR("price_nano_usd"));
		th_jw_object(&w);
		th_jw_kint(&w, "input", p->price.input);
		th_jw_kint(&w, "cached", p->price.cached);
		th_jw_kint(&w, "output", p->price.output);
		th_jw_object_end(&w);
	}
	th_jw_object_end(&w);
	th_buf_add_char(out, '\n');
}

static void print_one(const struct th_config *config, const struct th_profile *p,
		      struct th_str name, struct th_buf *out)
{
	th_buf_add_cstr(out, "model       ");
	th_text_line(out, name, TH_SESSION_ID_MAX);
	th_buf_printf(out, "\nprofile     %s: %s\nwire        %s, dialect %s\ncomputer    %s\n",
		      p->name, p->note ?: "", p->wire->name, p->dialect->name,
		      computer_name(p->computer));
	th_buf_printf(out, "pictures    %s\nreasoning   %s\n", p->vision ? "yes" : "no",
		      p->reasoning ? "yes" : "no");
	if (p->context_tokens)
		th_buf_printf(out, "tokens      %lld context, %lld output\n",
			      (long long)p->context_tokens, (long long)p->output_tokens);
	if (p->price.input || p->price.output) {
		th_buf_add_cstr(out, "price       $");
		add_price(out, p->price.input);
		th_buf_add_cstr(out, " input, $");
		add_price(out, p->price.cached);
		th_buf_add_cstr(out, " cached, $");
		add_price(out, p->price.output);
		th_buf_add_cstr(out, " output, per million tokens\n");
	}
	th_buf_add_cstr(out, "server      ");
	th_text_line(out, th_config_base_url(config, p), 500);
	th_buf_add_cstr(out, th_config_base_url(config, p).len
				 ? "\n"
				 : "none: set OPENAI_BASE_URL or give --base-url\n");
	th_buf_add_cstr(out, "key         ");
	if (th_config_key(config, p))
		th_buf_add_cstr(out, "is set");
	else
		th_config_key_hint(p, out);
	th_buf_add_char(out, '\n');
}

static void print_all(const struct models_options *o, struct th_buf *out)
{
	if (!o->names && !o->json)
		th_buf_printf(out, "%-28s %-10s %-13s %-14s %s\n", "profile", "wire", "computer",
			      "$/M in/out", "names");
	for (const struct th_profile *p = th_profile_next(NULL); p; p = th_profile_next(p)) {
		if (o->json) {
			print_json(p, TH_STR(""), out);
		} else if (o->names) {
			struct th_str patterns = th_str_of(p->pattern);

			while (patterns.len)
				th_buf_printf(out, "%.*s\n", TH_FMT(th_str_split(&patterns, '|')));
		} else {
			print_row(p, out);
		}
	}
}

static int run_models(const struct th_command *self, int argc, char **argv)
{
	struct models_options o = {};
	struct th_operands rest;
	struct th_config *config TH_CLEANUP(th_config_freep) = NULL;
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	const struct th_profile *p;
	struct th_str name;
	struct th_err err = {};
	struct th_composed composed = { 0 };
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);

	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count > 1)
		return th_cli_die(2, "models takes at most one name");
	if (rest.count == 0) {
		print_all(&o, &out);
		return th_cli_print(&out, 0);
	}
	code = th_config_load(o.config, &config, &err);
	if (code == TH_OK)
		code = th_model_compose(th_str_of(rest.list[0]), &composed, &p, &name, &err);
	if (code != TH_OK)
		return th_cli_fail(&err);
	if (o.json)
		print_json(p, name, &out);
	else
		print_one(config, p, name, &out);
	if (composed.grounder && !o.json) {
		th_buf_add_cstr(&out, "\nIts elements are found on the screen by:\n\n");
		print_one(config, composed.grounder, composed.grounder_name, &out);
	}
	return th_cli_print(&out, 0);
}

const struct th_command th_command_models = {
	.name = "models",
	.operands = "[NAME]",
	.summary = "the models that are known, and what is known of one",
	.text = "A model's name finds its profile by pattern; a version that is newer than this "
		"program gets its family's\n"
		"newest profile. Any other server that speaks OpenAI's Responses API is named "
		"responses:NAME, with its\n"
		"address in OPENAI_BASE_URL or --base-url.\n\n"
		"Examples:\n"
		"  thole models\n"
		"  thole models gpt-5.4\n"
		"  thole run -m responses:my-model --base-url http://127.0.0.1:8000/v1 \"…\"\n",
	.options = models_options,
	.words = "MODEL",
	.run = run_models,
};
