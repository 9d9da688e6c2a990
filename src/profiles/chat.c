/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chat.c - servers that speak Chat Completions, by the prefix of a
 * model's name, which is not sent.  What a server's models are is not known
 * here: they get the computer as a function, and pictures.
 */
#include "openai_chat/chat.h"
#include "dialects/list.h"
#include "openai_responses/responses.h"
#include "profiles/profiles.h"
#include "profiles/servers.h"
#include "providers/human.h"

#define CHAT                                                                                    \
	.wire = &th_wire_chat, .dialect = &th_dialect_native, .computer = TH_COMPUTER_FUNCTION, \
	.vision = true, .reasoning = true

// clang-format off
const struct th_profile th_profiles_chat[] = {
	{ .name = "human", .pattern = "human/*|human", .wire = &th_wire_human,
	  .dialect = &th_dialect_json, .computer = TH_COMPUTER_DIALECT, .vision = true, .images_max = 1,
	  .base_url_env = "HUMAN_BASE_URL", .key_env = "HUMAN_API_KEY",
	  .note = "a person, at the terminal or over HTTP" },
	{ .name = "openrouter", CHAT, .pattern = "openrouter/*", SERVER_OPENROUTER,
	  .note = "any model of OpenRouter, as openrouter/VENDOR/NAME" },
	{ .name = "deepseek", CHAT, .pattern = "deepseek/*", .flavour = "deepseek",
	  SERVER("https://api.deepseek.com/v1", "DEEPSEEK_API_BASE", "DEEPSEEK_API_KEY"),
	  .note = "DeepSeek's own API" },
	{ .name = "groq", CHAT, .pattern = "groq/*", SERVER_GROQ,
	  .note = "Groq" },
	{ .name = "mistral", CHAT, .pattern = "mistral/*", .flavour = "mistral",
	  SERVER("https://api.mistral.ai/v1", "MISTRAL_API_BASE", "MISTRAL_API_KEY"),
	  .note = "Mistral's own API" },
	{ .name = "xai", CHAT, .pattern = "xai/*", .flavour = "xai",
	  SERVER("https://api.x.ai/v1", "XAI_API_BASE", "XAI_API_KEY"),
	  .note = "xAI's own API" },
	{ .name = "dashscope", CHAT, .pattern = "dashscope/*", SERVER_DASHSCOPE,
	  .note = "Qwen at Alibaba Cloud" },
	{ .name = "moonshot", CHAT, .pattern = "moonshot/*", .flavour = "moonshot",
	  SERVER("https://api.moonshot.ai/v1", "MOONSHOT_API_BASE", "MOONSHOT_API_KEY"),
	  .note = "Kimi at Moonshot" },
	{ .name = "zai", CHAT, .pattern = "zai/*", SERVER_ZAI,
	  .note = "GLM at Z.ai" },
	{ .name = "minimax", CHAT, .pattern = "minimax/*", .flavour = "minimax",
	  SERVER("https://api.minimax.io/v1", "MINIMAX_API_BASE", "MINIMAX_API_KEY"),
	  .note = "MiniMax's own API" },
	{ .name = "together", CHAT, .pattern = "together_ai/*|together/*", SERVER_TOGETHER,
	  .note = "Together" },
	{ .name = "fireworks", CHAT, .pattern = "fireworks_ai/*|fireworks/*", SERVER_FIREWORKS,
	  .note = "Fireworks" },
	{ .name = "cerebras", CHAT, .pattern = "cerebras/*", .flavour = "cerebras",
	  SERVER("https://api.cerebras.ai/v1", "CEREBRAS_API_BASE", "CEREBRAS_API_KEY"),
	  .note = "Cerebras" },
	{ .name = "perplexity", CHAT, .pattern = "perplexity/*", .flavour = "perplexity",
	  SERVER("https://api.perplexity.ai", "PERPLEXITY_API_BASE", "PERPLEXITYAI_API_KEY"),
	  .note = "Perplexity" },
	{ .name = "nvidia-nim", CHAT, .pattern = "nvidia_nim/*", SERVER_NVIDIA_NIM,
	  .note = "NVIDIA's catalogue" },
	{ .name = "huggingface", CHAT, .pattern = "huggingface/*", SERVER_HUGGINGFACE,
	  .note = "Hugging Face's router or an endpoint of one's own, as huggingface/ORG/NAME" },
	{ .name = "cua", CHAT, .pattern = "cua/*", SERVER_CUA,
	  .note = "Cua's hosted models" },
	/* OpenAI's computer tools are the Responses API's, at Azure too. */
	{ .name = "azure-computer-use-preview", .pattern = "azure/*computer-use-preview*",
	  .wire = &th_wire_responses, .dialect = &th_dialect_native,
	  .computer = TH_COMPUTER_PREVIEW, .vision = true, .reasoning = true, .strict = true,
	  SERVER(NULL, "AZURE_API_BASE", "AZURE_API_KEY"),
	  .price = { .input = 3000, .cached = 3000, .output = 12000 },
	  .note = "the preview computer tool, at Azure" },
	{ .name = "azure-gpt-5.4", .pattern = "azure/*gpt-5.4*|azure/*gpt-54*|azure/*gpt5.4*|azure/*gpt54*|azure/*gpt-5.5*",
	  .wire = &th_wire_responses, .dialect = &th_dialect_native,
	  .computer = TH_COMPUTER_GA, .vision = true, .reasoning = true, .strict = true,
	  SERVER(NULL, "AZURE_API_BASE", "AZURE_API_KEY"),
	  .note = "the computer tool with batched actions, at Azure" },
	{ .name = "azure", CHAT, .pattern = "azure/*|azure_ai/*|azure_ml/*", SERVER_AZURE, .strict = true,
	  .note = "a deployment at Azure; AZURE_API_BASE is https://RESOURCE.openai.azure.com/openai/v1" },

	/* Servers on one's own machine, which need no key. */
	{ .name = "ollama", CHAT, .pattern = "ollama/*|ollama_chat/*", SERVER_OLLAMA,
	  .note = "Ollama; a base URL ends with /v1" },
	{ .name = "lm-studio", CHAT, .pattern = "lm_studio/*", SERVER_LM_STUDIO,
	  .note = "LM Studio" },
	{ .name = "llamacpp", CHAT, .pattern = "llamacpp/*|llamafile/*", SERVER_LLAMACPP,
	  .note = "llama.cpp's server, started with --jinja for tools" },
	{ .name = "vllm", CHAT, .pattern = "hosted_vllm/*|vllm/*", SERVER_VLLM,
	  .note = "vLLM, started with --enable-auto-tool-choice for tools; needs a base URL" },

	/* Anything else that speaks the API. */
	{ .name = "chat", CHAT, .pattern = "chat:*|openai_like/*|custom_openai/*", SERVER_CHAT,
	  .note = "any server that speaks Chat Completions, as chat:NAME; needs a base URL" },
	{ .name = NULL },
};
// clang-format on
