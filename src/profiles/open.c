/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c - models of open weights, on whatever server they run.
 *
 * What a model writes and counts in is its family's; where it is, its server's.
 * So each family is a row on each server: a name such as
 * openrouter/qwen/qwen3-vl is found in two steps (list.c), by the server's
 * pattern and then by the family's.  A family's last row takes what is newer
 * than this table.
 */
#include "dialects/list.h"
#include "openai_chat/chat.h"
#include "openai_responses/responses.h"
#include "profiles/profiles.h"
#include "profiles/servers.h"

// clang-format off
#define WRITES .wire = &th_wire_chat, .vision = true, .computer = TH_COMPUTER_DIALECT
#define POINTS .wire = &th_wire_chat, .vision = true, .computer = TH_COMPUTER_CLICK

#define NORM(n) .space = { .kind = TH_SPACE_NORM, .max = (n) }
#define SMART(f, min, most) \
	.space = { .kind = TH_SPACE_SMART, .factor = (f), .pixels_min = (min), .pixels_max = (most) }, \
	.resize = { .pixels_max = (most) }
#define FLOOR28 \
	.space = { .kind = TH_SPACE_SMART, .factor = 28, .pixels_min = 3136, .pixels_max = 8847360, \
		   .floor = true }, \
	.resize = { .pixels_max = 8847360 }

/* UI-TARS.  "2509" is a date, "2b" a size. */
#define FAMILY_UI_TARS_DOUBAO \
	.name = "ui-tars-doubao", WRITES, \
	.pattern = "*doubao*ui-tars*", .dialect = &th_dialect_uitars15, NORM(1000), .images_max = 5, \
	.note = "Doubao's UI-TARS 1.5: Thought and Action, 0 to 1000"

#define FAMILY_UI_TARS_1_5 \
	.name = "ui-tars-1.5", WRITES, \
	.pattern = "*ui-tars*1.5*|*ui-tars*1-5*|*ui-tars*1_5*|*ui-tars-v1.5*|*uitars*1.5*|*uitars15*|" \
	"*ui-tars-25*", \
	.dialect = &th_dialect_uitars15, SMART(28, 78400, 12845056), .images_max = 5, \
	.note = "UI-TARS 1.5: Thought and Action, pixels of the resized picture"

#define FAMILY_UI_TARS_1 \
	.name = "ui-tars-1", WRITES, \
	.pattern = "*ui-tars-2b*|*ui-tars-7b*|*ui-tars-72b*|*ui-tars-1|*ui-tars-1-*|*ui-tars-1.0*|" \
	"*ui-tars-v1*|*uitars-7b*|*uitars-72b*|*uitars1*|*uitars-1*", \
	.dialect = &th_dialect_uitars, NORM(1000), .images_max = 5, \
	.note = "UI-TARS 1.0: Thought and Action, 0 to 1000"

#define FAMILY_UI_TARS \
	.name = "ui-tars", .newer = true, WRITES, \
	.pattern = "*ui-tars*|*uitars*|*ui_tars*", \
	.dialect = &th_dialect_uitars2, NORM(1000), .images_max = 5, \
	.note = "UI-TARS 2 and later: seed:tool_call, 0 to 1000"

/* Tuned from Qwen, with spaces and words of their own: before it. */
#define FAMILY_FARA \
	.name = "fara", WRITES, \
	.pattern = "*fara-*|*fara1*|*fara2*|*fara|*fara:*", \
	.dialect = &th_dialect_fara, SMART(28, 3136, 12845056), .images_max = 3, \
	.note = "FARA: <tool_call>, words of a browser"

#define FAMILY_OPENCUA \
	.name = "opencua", WRITES, \
	.pattern = "*opencua*", \
	.dialect = &th_dialect_opencua, SMART(28, 3136, 12845056), .images_max = 3, \
	.note = "OpenCUA: pyautogui calls in a block of code, which is read and never run"

#define FAMILY_GTA1 \
	.name = "gta1", POINTS, \
	.pattern = "*gta1*|*gta-1*", .dialect = &th_dialect_points, FLOOR28, \
	.note = "points at things: the first half of a composed model"

#define FAMILY_GELATO \
	.name = "gelato", POINTS, \
	.pattern = "*gelato*", .dialect = &th_dialect_points, FLOOR28, \
	.note = "points at things: the first half of a composed model"

#define FAMILY_UI_INS \
	.name = "ui-ins", POINTS, \
	.pattern = "*ui-ins*|*uiins*", .dialect = &th_dialect_uiins, FLOOR28, \
	.note = "points at things: the first half of a composed model"

#define FAMILY_HOLO1_5 \
	.name = "holo1.5", POINTS, \
	.pattern = "*holo1*|*holo-1*", .dialect = &th_dialect_holo, SMART(28, 3136, 12845056), \
	.note = "points at things: the first half of a composed model"

#define FAMILY_HOLO \
	.name = "holo", .newer = true, POINTS, \
	.pattern = "*holo2*|*holo-2*|*holo3*|*hcompany/holo*", .dialect = &th_dialect_holo, NORM(1000), \
	.note = "points at things: the first half of a composed model"

#define FAMILY_INTERNVL \
	.name = "internvl", POINTS, \
	.pattern = "*internvl*", .dialect = &th_dialect_internvl, \
	.space = { .kind = TH_SPACE_NORM, .max = 1000, .floor = true }, \
	.note = "points at things by boxes: the first half of a composed model"

#define FAMILY_MOONDREAM \
	.name = "moondream", POINTS, \
	.pattern = "*moondream*", .dialect = &th_dialect_fractions, NORM(1), \
	.note = "points at things: the first half of a composed model"

#define FAMILY_QWEN2_5_VL \
	.name = "qwen2.5-vl", WRITES, \
	.pattern = "*qwen2.5*vl*|*qwen2_5*vl*|*qwen25*vl*|*qwen-2.5-vl*", \
	.dialect = &th_dialect_qwen, SMART(28, 3136, 12845056), \
	.note = "<tool_call>, pixels of the resized picture"

#define FAMILY_QWEN3_5 \
	.name = "qwen3.5", .newer = true, WRITES, \
	.pattern = "*qwen3.5*|*qwen35*|*qwen-3.5*|*qwen3_5*|*qwen3-5*|*qwen3.6*|*qwen-3.6*|*qwen4*", \
	.dialect = &th_dialect_qwen35, NORM(1000), \
	.note = "<tool_call> with <function=…>, 0 to 1000"

#define FAMILY_QWEN3_VL \
	.name = "qwen3-vl", WRITES, \
	.pattern = "*qwen*vl*|*qwen*omni*", .dialect = &th_dialect_qwen, NORM(1000), \
	.note = "<tool_call> with JSON, 0 to 1000"

#define FAMILY_GLM_V \
	.name = "glm-v", .newer = true, WRITES, \
	.pattern = "*glm-4.*v|*glm-4.*v-*|*glm-4.*v:*|*glm-4v*|*glm4.*v|*glm-5*v|*glm-5*v-*|*glm-5*v:*", \
	.dialect = &th_dialect_glm, .space = { .kind = TH_SPACE_NORM, .max = 999, .floor = true }, \
	.images_max = 4, \
	.note = "GLM: one call in a box, 0 to 999"

#define FAMILIES(X, ...) \
	X(FAMILY_UI_TARS_DOUBAO, __VA_ARGS__) \
	X(FAMILY_UI_TARS_1_5, __VA_ARGS__) \
	X(FAMILY_UI_TARS_1, __VA_ARGS__) \
	X(FAMILY_UI_TARS, __VA_ARGS__) \
	X(FAMILY_FARA, __VA_ARGS__) \
	X(FAMILY_OPENCUA, __VA_ARGS__) \
	X(FAMILY_GTA1, __VA_ARGS__) \
	X(FAMILY_GELATO, __VA_ARGS__) \
	X(FAMILY_UI_INS, __VA_ARGS__) \
	X(FAMILY_HOLO1_5, __VA_ARGS__) \
	X(FAMILY_HOLO, __VA_ARGS__) \
	X(FAMILY_INTERNVL, __VA_ARGS__) \
	X(FAMILY_MOONDREAM, __VA_ARGS__) \
	X(FAMILY_QWEN2_5_VL, __VA_ARGS__) \
	X(FAMILY_QWEN3_5, __VA_ARGS__) \
	X(FAMILY_QWEN3_VL, __VA_ARGS__) \
	X(FAMILY_GLM_V, __VA_ARGS__)
#define ROW(family, ...) { family, __VA_ARGS__ },

const struct th_profile th_profiles_open[] = {
	FAMILIES(ROW, SERVER_CHAT)

	{ .name = "qwen", .wire = &th_wire_chat, .dialect = &th_dialect_native,
	  .pattern = "*qwen*|*qwq*", .computer = TH_COMPUTER_NONE, SERVER_CHAT,
	  .note = "text only; needs a base URL" },
	{ .name = "yutori-n1", WRITES, .pattern = "n1|n1-*|yutori/*",
	  .dialect = &th_dialect_yutori, NORM(1000), .resize = { .side_max = 1280 },
	  SERVER("https://api.yutori.com/v1", "YUTORI_API_BASE", "YUTORI_API_KEY"),
	  .note = "Yutori n1: its own functions, 0 to 1000" },

	/* Anything else that speaks the API: "responses:NAME" and "local/NAME" come here too. */
	{ .name = "responses",
	  .pattern = "mock|mock-*|scripted|scripted-*",
	  .wire = &th_wire_responses, .dialect = &th_dialect_native,
	  .base_url_env = "OPENAI_BASE_URL", .key_env = "OPENAI_API_KEY",
	  .computer = TH_COMPUTER_FUNCTION, .vision = true, .reasoning = true,
	  .note = "any server that speaks the Responses API, as responses:NAME; needs a base URL" },
	{ .name = NULL },
};

#define SERVED(where, ...) { where, { FAMILIES(ROW, __VA_ARGS__) { .name = NULL } } },

/* The same families elsewhere, in the same order. */
static const struct {
	const char *server;
	struct th_profile families[18];
} served[] = {
	SERVED("openrouter", SERVER_OPENROUTER)
	SERVED("groq", SERVER_GROQ)
	SERVED("dashscope", SERVER_DASHSCOPE)
	SERVED("zai", SERVER_ZAI)
	SERVED("together", SERVER_TOGETHER)
	SERVED("fireworks", SERVER_FIREWORKS)
	SERVED("nvidia-nim", SERVER_NVIDIA_NIM)
	SERVED("huggingface", SERVER_HUGGINGFACE)
	SERVED("cua", SERVER_CUA)
	SERVED("azure", SERVER_AZURE)
	SERVED("ollama", SERVER_OLLAMA)
	SERVED("lm-studio", SERVER_LM_STUDIO)
	SERVED("llamacpp", SERVER_LLAMACPP)
	SERVED("vllm", SERVER_VLLM)
	SERVED("chat", SERVER_CHAT)
};
// clang-format on

static const struct th_profile *first_fit(const struct th_profile *p, struct th_str name)
{
	while (p->name && !th_profile_fits(p, name))
		p++;
	return p->name ? p : NULL;
}

/* Cua passes the models of these on to their own APIs; all others speak Chat Completions there. */
static const struct th_profile *passed_on(struct th_str *name)
{
	static const struct {
		struct th_str prefix;
		const struct th_profile *rows;
	} whose[] = {
		{ TH_STR_INIT("anthropic/"), th_profiles_anthropic_at_cua },
		{ TH_STR_INIT("google/"), th_profiles_google_at_cua },
		{ TH_STR_INIT("gemini/"), th_profiles_google_at_cua },
	};

	for (size_t i = 0; i < TH_COUNT(whose); i++) {
		struct th_str rest = th_str_sub(*name, whose[i].prefix.len, name->len);
		const struct th_profile *p;

		if (!th_str_istarts(*name, whose[i].prefix))
			continue;
		p = first_fit(whose[i].rows, rest);
		if (p)
			*name = rest;
		return p;
	}
	return NULL;
}

const struct th_profile *th_profile_served(const struct th_profile *server, struct th_str *name)
{
	const struct th_profile *direct = NULL;

	if (strcmp(server->name, "cua") == 0)
		direct = passed_on(name);
	if (direct)
		return direct;
	for (size_t i = 0; i < TH_COUNT(served); i++) {
		if (strcmp(served[i].server, server->name) == 0)
			return first_fit(served[i].families, *name);
	}
	return NULL;
}
