/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles_chat.c - servers that speak Chat Completions, by the prefix of a
 * model's name, which is not sent.  What a server's models are is not known
 * here: they get the computer as a function, and pictures.
 */
#include "models/chat.h"
#include "models/profiles.h"
#include "models/responses.h"

#define CHAT                                                                                    \
	.wire = &th_wire_chat, .dialect = &th_dialect_native, .computer = TH_COMPUTER_FUNCTION, \
	.vision = true, .reasoning = true
#define SERVER(url, base, key) .base_url = (url), .base_url_env = (base), .key_env = (key)

// clang-format off
const struct th_profile th_profiles_chat[] = {
	{ .name = "openrouter", CHAT, .pattern = "openrouter/*", .flavour = "openrouter",
	  SERVER("https://openrouter.ai/api/v1", "OPENROUTER_API_BASE", "OPENROUTER_API_KEY"),
	  .note = "any model of OpenRouter, as openrouter/VENDOR/NAME" },
	{ .name = "deepseek", CHAT, .pattern = "deepseek/*", .flavour = "deepseek",
	  SERVER("https://api.deepseek.com/v1", "DEEPSEEK_API_BASE", "DEEPSEEK_API_KEY"),
	  .note = "DeepSeek's own API" },
	{ .name = "groq", CHAT, .pattern = "groq/*", .flavour = "groq",
	  SERVER("https://api.groq.com/openai/v1", "GROQ_API_BASE", "GROQ_API_KEY"),
	  .note = "Groq" },
	{ .name = "mistral", CHAT, .pattern = "mistral/*", .flavour = "mistral",
	  SERVER("https://api.mistral.ai/v1", "MISTRAL_API_BASE", "MISTRAL_API_KEY"),
	  .note = "Mistral's own API" },
	{ .name = "xai", CHAT, .pattern = "xai/*", .flavour = "xai",
	  SERVER("https://api.x.ai/v1", "XAI_API_BASE", "XAI_API_KEY"),
	  .note = "xAI's own API" },
	{ .name = "dashscope", CHAT, .pattern = "dashscope/*", .flavour = "dashscope",
	  SERVER("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_BASE",
		 "DASHSCOPE_API_KEY"),
	  .note = "Qwen at Alibaba Cloud" },
	{ .name = "moonshot", CHAT, .pattern = "moonshot/*", .flavour = "moonshot",
	  SERVER("https://api.moonshot.ai/v1", "MOONSHOT_API_BASE", "MOONSHOT_API_KEY"),
	  .note = "Kimi at Moonshot" },
	{ .name = "zai", CHAT, .pattern = "zai/*", .flavour = "zai",
	  SERVER("https://api.z.ai/api/paas/v4", "ZAI_API_BASE", "ZAI_API_KEY"),
	  .note = "GLM at Z.ai" },
	{ .name = "minimax", CHAT, .pattern = "minimax/*", .flavour = "minimax",
	  SERVER("https://api.minimax.io/v1", "MINIMAX_API_BASE", "MINIMAX_API_KEY"),
	  .note = "MiniMax's own API" },
	{ .name = "together", CHAT, .pattern = "together_ai/*|together/*", .flavour = "together",
	  SERVER("https://api.together.xyz/v1", "TOGETHERAI_API_BASE", "TOGETHERAI_API_KEY"),
	  .note = "Together" },
	{ .name = "fireworks", CHAT, .pattern = "fireworks_ai/*|fireworks/*", .flavour = "fireworks",
	  SERVER("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_BASE", "FIREWORKS_API_KEY"),
	  .note = "Fireworks" },
	{ .name = "cerebras", CHAT, .pattern = "cerebras/*", .flavour = "cerebras",
	  SERVER("https://api.cerebras.ai/v1", "CEREBRAS_API_BASE", "CEREBRAS_API_KEY"),
	  .note = "Cerebras" },
	{ .name = "perplexity", CHAT, .pattern = "perplexity/*", .flavour = "perplexity",
	  SERVER("https://api.perplexity.ai", "PERPLEXITY_API_BASE", "PERPLEXITYAI_API_KEY"),
	  .note = "Perplexity" },
	{ .name = "nvidia-nim", CHAT, .pattern = "nvidia_nim/*", .flavour = "nvidia_nim",
	  SERVER("https://integrate.api.nvidia.com/v1", "NVIDIA_NIM_API_BASE", "NVIDIA_NIM_API_KEY"),
	  .note = "NVIDIA's catalogue" },
	{ .name = "huggingface", CHAT, .pattern = "huggingface/*", .flavour = "huggingface",
	  SERVER("https://router.huggingface.co/v1", "HUGGINGFACE_API_BASE", "HF_TOKEN"),
	  .note = "Hugging Face's router or an endpoint of one's own, as huggingface/ORG/NAME" },
	{ .name = "cua", CHAT, .pattern = "cua/*", .flavour = "cua",
	  SERVER("https://inference.cua.ai/v1", "CUA_BASE_URL", "CUA_API_KEY"),
	  .note = "Cua's hosted models" },
	/* OpenAI's computer tools are the Responses API's, at Azure too. */
	{ .name = "azure-computer-use-preview", .pattern = "azure/*computer-use-preview*",
	  .wire = &th_wire_responses, .dialect = &th_dialect_native,
	  .computer = TH_COMPUTER_PREVIEW, .vision = true, .reasoning = true, .strict = true,
	  SERVER(NULL, "AZURE_API_BASE", "AZURE_API_KEY"),
	  .price = { .input = 3000, .cached = 3000, .output = 12000 },
	  .note = "the preview computer tool, at Azure" },
	{ .name = "azure-gpt-5.4", .pattern = "azure/*gpt-5.4*|azure/*gpt-54*|azure/*gpt-5.5*",
	  .wire = &th_wire_responses, .dialect = &th_dialect_native,
	  .computer = TH_COMPUTER_GA, .vision = true, .reasoning = true, .strict = true,
	  SERVER(NULL, "AZURE_API_BASE", "AZURE_API_KEY"),
	  .note = "the computer tool with batched actions, at Azure" },
	{ .name = "azure", CHAT, .pattern = "azure/*|azure_ai/*|azure_ml/*", .flavour = "azure",
	  SERVER(NULL, "AZURE_API_BASE", "AZURE_API_KEY"), .strict = true,
	  .note = "a deployment at Azure; AZURE_API_BASE is https://RESOURCE.openai.azure.com/openai/v1" },

	/* Servers on one's own machine, which need no key. */
	{ .name = "ollama", CHAT, .pattern = "ollama/*|ollama_chat/*", .flavour = "ollama",
	  SERVER("http://localhost:11434/v1", "OLLAMA_API_BASE", "OLLAMA_API_KEY"),
	  .note = "Ollama; a base URL ends with /v1" },
	{ .name = "lm-studio", CHAT, .pattern = "lm_studio/*", .flavour = "lm_studio",
	  SERVER("http://localhost:1234/v1", "LM_STUDIO_API_BASE", "LM_STUDIO_API_KEY"),
	  .note = "LM Studio" },
	{ .name = "llamacpp", CHAT, .pattern = "llamacpp/*|llamafile/*", .flavour = "llamacpp",
	  SERVER("http://localhost:8080/v1", "LLAMACPP_API_BASE", "LLAMACPP_API_KEY"),
	  .note = "llama.cpp's server, started with --jinja for tools" },
	{ .name = "vllm", CHAT, .pattern = "hosted_vllm/*|vllm/*", .flavour = "vllm",
	  SERVER(NULL, "HOSTED_VLLM_API_BASE", "HOSTED_VLLM_API_KEY"),
	  .note = "vLLM, started with --enable-auto-tool-choice for tools; needs a base URL" },

	/* Anything else that speaks the API. */
	{ .name = "chat", CHAT, .pattern = "chat:*|openai_like/*|custom_openai/*",
	  SERVER(NULL, "OPENAI_BASE_URL", "OPENAI_API_KEY"),
	  .note = "any server that speaks Chat Completions, as chat:NAME; needs a base URL" },
	{ .name = NULL },
};
// clang-format on
