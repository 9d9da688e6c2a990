/* SPDX-License-Identifier: Apache-2.0 */
/* models.c - thole models: which names are known, and what is known of them. */
#include "base/limits.h"
#include "base/text.h"
#include "cli/cli.h"
#include "profiles/compose.h"
#include "profiles/profiles.h"

struct models_options {
	struct th_str config, models;
	bool json, names;
};

static const struct th_option models_options[] = {
	TH_OPTION_JSON(struct models_options, json),
	{ "names", 0, NULL, TH_OPTION_FLAG, offsetof(struct models_options, names), "patterns only",
	  NULL },
	TH_OPTION_MODELS(struct models_options, models),
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

/* What its coordinates count in: "pixels", "0..1000", "smart 28". */
static void add_space(struct th_buf *out, const struct th_space *s)
{
	switch (s->kind) {
	case TH_SPACE_PIXELS:
		th_buf_add_cstr(out, "pixels");
		break;
	case TH_SPACE_NORM:
		th_buf_printf(out, "0..%d", s->max);
		break;
	case TH_SPACE_SMART:
		th_buf_printf(out, "smart %d", s->factor);
		break;
	}
}

static void add_tokens(struct th_buf *out, int64_t tokens)
{
	if (tokens)
		th_cli_number(out, tokens);
	else
		th_buf_add_char(out, '?');
}

static void add_limits(struct th_buf *out, const struct th_profile *p)
{
	if (!p->context_tokens && !p->output_tokens)
		return;
	add_tokens(out, p->context_tokens);
	th_buf_add_char(out, '/');
	add_tokens(out, p->output_tokens);
}

static void print_row(const struct th_profile *p, struct th_buf *out)
{
	struct th_buf price TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf space TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf limits TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	add_prices(&price, &p->price);
	add_space(&space, &p->space);
	add_limits(&limits, p);
	th_buf_add_cstr(out, p->user ? "* " : "  ");
	th_buf_printf(out, "%-30s %-10s %-12s %-9s %-13s %-13s %-14s ", p->name, p->wire->name,
		      p->dialect->name, space.ptr, computer_name(p->computer), limits.ptr ?: "",
		      price.ptr ?: "");
	th_text_line(out, th_str_of(p->pattern), TH_MODEL_NAME_MAX);
	th_buf_add_char(out, '\n');
}

static const char *const rules[] = {
	[TH_MATCH_USER] = "user",
	[TH_MATCH_TABLE] = "table",
	[TH_MATCH_SERVED] = "served",
	[TH_MATCH_GENERIC] = "generic",
};

static void print_json(const struct th_profile *p, const struct th_match *m, struct th_buf *out)
{
	struct th_buf space TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(out);

	add_space(&space, &p->space);
	th_jw_object(&w);
	th_jw_kstr(&w, "profile", th_str_of(p->name));
	if (m) {
		th_jw_kstr(&w, "model", m->name);
		th_jw_kstr(&w, "rule", th_str_of(rules[m->rule]));
		th_jw_kstr(&w, "matched", m->pattern);
		th_jw_kstr(&w, "prefix", m->prefix);
		th_jw_kbool(&w, "newer", p->newer);
	}
	th_jw_kstr(&w, "source", p->user ? TH_STR("user") : TH_STR("built-in"));
	th_jw_kstr(&w, "pattern", th_str_of(p->pattern));
	th_jw_kstr(&w, "wire", th_str_of(p->wire->name));
	th_jw_kstr(&w, "dialect", th_str_of(p->dialect->name));
	th_jw_kstr(&w, "space", th_buf_str(&space));
	th_jw_kstr(&w, "computer", th_str_of(computer_name(p->computer)));
	th_jw_kbool(&w, "vision", p->vision);
	th_jw_kbool(&w, "reasoning", p->reasoning);
	if (p->images_max)
		th_jw_kint(&w, "images_max", p->images_max);
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

/* Which rule found the profile. */
static void add_why(const struct th_config *config, const struct th_match *m, struct th_buf *out)
{
	const struct th_profile *p = m->profile;

	th_buf_add_cstr(out, "why         ");
	if (m->prefix.len && !p->sends) {
		th_buf_add_cstr(out, "the prefix \"");
		th_text_line(out, m->prefix, TH_MODEL_NAME_MAX);
		th_buf_add_cstr(out, "\" says where and is not sent; ");
	}
	switch (m->rule) {
	case TH_MATCH_USER:
		th_buf_add_cstr(out, "your row in ");
		th_text_line(out, config->models_file, TH_PATH_LEN_MAX);
		th_buf_add_cstr(out, ", by the pattern ");
		break;
	case TH_MATCH_TABLE:
		th_buf_add_cstr(out, "a built-in row, by the pattern ");
		break;
	case TH_MATCH_SERVED:
		th_buf_printf(out,
			      "the server of the row %s, and its model's family by the pattern ",
			      m->server->name);
		break;
	case TH_MATCH_GENERIC:
		th_buf_add_cstr(out, "any server that speaks the Responses API");
		break;
	}
	th_text_line(out, m->pattern, TH_MODEL_NAME_MAX);
	if (p->newer)
		th_buf_add_cstr(out, "; which takes versions that the table does not know: its "
				     "family's newest profile");
	if (p->sends)
		th_buf_add_cstr(out, "; the row says which name is sent");
	th_buf_add_char(out, '\n');
}

static void print_one(const struct th_config *config, const struct th_match *m, struct th_buf *out)
{
	const struct th_profile *p = m->profile;

	th_buf_add_cstr(out, "model       ");
	th_text_line(out, m->name, TH_SESSION_ID_MAX);
	th_buf_printf(out, "\nprofile     %s: %s\n", p->name, p->note ?: "");
	add_why(config, m, out);
	th_buf_printf(out, "wire        %s, dialect %s, coordinates ", p->wire->name,
		      p->dialect->name);
	add_space(out, &p->space);
	th_buf_printf(out, "\ncomputer    %s\n", computer_name(p->computer));
	th_buf_printf(out, "pictures    %s\nreasoning   %s\n", p->vision ? "yes" : "no",
		      p->reasoning ? "yes" : "no");
	if (p->context_tokens || p->output_tokens) {
		th_buf_add_cstr(out, "tokens      ");
		add_tokens(out, p->context_tokens);
		th_buf_add_cstr(out, " context, ");
		add_tokens(out, p->output_tokens);
		th_buf_add_cstr(out, " output\n");
	}
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
	if (!th_config_base_url(config, p).len)
		th_buf_printf(out, "none: %s%s%sgive --base-url", p->base_url_env ? "set " : "",
			      p->base_url_env ?: "", p->base_url_env ? " or " : "");
	th_buf_add_char(out, '\n');
	th_buf_add_cstr(out, "key         ");
	if (th_config_key(config, p, th_config_base_url(config, p)))
		th_buf_add_cstr(out, "is set");
	else if (!p->key_env)
		th_buf_add_cstr(out, "none is asked for");
	else
		th_config_key_hint(config, p, out);
	if (p->key_env && !th_config_key(config, p, th_config_base_url(config, p)) &&
	    !th_config_key_needed(p, th_config_base_url(config, p)))
		th_buf_add_cstr(out, "; only where the server asks for one");
	th_buf_add_char(out, '\n');
}

static void print_names(const struct th_profile *p, struct th_buf *out)
{
	struct th_str patterns = th_str_of(p->pattern);

	while (patterns.len) {
		struct th_str one = th_str_split(&patterns, '|');

		th_buf_printf(out, "%.*s\n", TH_FMT(one));
	}
}

static void print_profile(const struct models_options *o, const struct th_profile *p,
			  struct th_buf *out)
{
	if (o->json)
		print_json(p, NULL, out);
	else if (o->names)
		print_names(p, out);
	else
		print_row(p, out);
}

static void print_all(const struct models_options *o, const struct th_config *config,
		      struct th_buf *out)
{
	if (!o->names && !o->json)
		th_buf_printf(out, "  %-30s %-10s %-12s %-9s %-13s %-13s %-14s %s\n", "profile",
			      "wire", "dialect", "space", "computer", "tokens", "$/M in/out",
			      "names");
	for (size_t i = 0; i < config->profiles.count; i++)
		print_profile(o, &config->profiles.rows[i], out);
	for (const struct th_profile *p = th_profile_next(NULL); p; p = th_profile_next(p))
		print_profile(o, p, out);
	if (config->profiles.count && !o->names && !o->json) {
		th_buf_add_cstr(out, "\n* of ");
		th_text_line(out, config->models_file, TH_PATH_LEN_MAX);
		th_buf_add_char(out, '\n');
	}
}

static enum th_code print_name(const struct models_options *o, const struct th_config *config,
			       struct th_str name, struct th_buf *out, struct th_err *err)
{
	struct th_composed composed = { 0 };
	struct th_match match;
	enum th_code code = th_model_compose(&config->profiles, name, &composed, &match, err);

	if (code != TH_OK)
		return code;
	if (o->json)
		print_json(match.profile, &match, out);
	else
		print_one(config, &match, out);
	if (composed.marks && !o->json)
		th_buf_add_cstr(out, "\nElements have numbered marks on its pictures: of the "
				     "accessibility tree, of\nan OmniParser server "
				     "(OMNIPARSER_BASE_URL), or read by tesseract.\n");
	if (composed.grounder && !o->json) {
		th_buf_add_cstr(out,
				"\nA composed pair: this one plans, and its elements are found "
				"on the screen by:\n\n");
		print_one(config, &composed.grounder_match, out);
	}
	return TH_OK;
}

static int run_models(const struct th_command *self, int argc, char **argv)
{
	struct models_options o = {};
	struct th_operands rest;
	struct th_config *config TH_CLEANUP(th_config_freep) = NULL;
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);

	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count > 1)
		return th_cli_die(2, "models takes at most one name");
	code = th_config_load(o.config, &config, &err);
	if (code == TH_OK)
		code = th_config_models(config, o.models, &err);
	if (code == TH_OK && rest.count)
		code = print_name(&o, config, th_str_of(rest.list[0]), &out, &err);
	if (code != TH_OK)
		return th_cli_fail(&err);
	if (!rest.count)
		print_all(&o, config, &out);
	return th_cli_print(&out, 0);
}

const struct th_command th_command_models = {
	.name = "models",
	.operands = "[NAME]",
	.summary = "list the known models, or show one",
	.text =
	    "A model's profile is found by patterns for its name; a version that is newer than "
	    "this program gets\n"
	    "the newest profile of its family. Any other server that speaks Chat Completions is "
	    "named chat:NAME, one that speaks OpenAI's\n"
	    "Responses API responses:NAME, with its address in OPENAI_BASE_URL or --base-url. "
	    "GROUNDER+PLANNER is a pair: the planner describes an element, the grounder finds it.\n"
	    "\n"
	    "Your own profiles go into a models file (examples/models.yaml); they have priority, "
	    "and the list\n"
	    "marks them with a star. With a NAME, `why` shows which rule found the profile.\n"
	    "\n"
	    "Examples:\n"
	    "  thole models\n"
	    "  thole models gpt-5.4\n"
	    "  thole models gta1+gpt-5.4\n"
	    "  thole run -m responses:my-model --base-url http://127.0.0.1:8000/v1 \"…\"\n",
	.options = models_options,
	.words = "MODEL",
	.run = run_models,
};
