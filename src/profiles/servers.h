/* SPDX-License-Identifier: Apache-2.0 */
/*
 * servers.h - servers that anybody's models run on, as the members of
 * a profile that say where they are.
 */
#ifndef TH_PROFILES_SERVERS_H
#define TH_PROFILES_SERVERS_H

#define SERVER(url, base, key) .base_url = (url), .base_url_env = (base), .key_env = (key)

// clang-format off
#define SERVER_OPENROUTER \
	.flavour = "openrouter", SERVER("https://openrouter.ai/api/v1", "OPENROUTER_API_BASE", "OPENROUTER_API_KEY")
#define SERVER_GROQ \
	.flavour = "groq", SERVER("https://api.groq.com/openai/v1", "GROQ_API_BASE", "GROQ_API_KEY")
#define SERVER_DASHSCOPE \
	.flavour = "dashscope", SERVER("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_BASE", "DASHSCOPE_API_KEY")
#define SERVER_ZAI \
	.flavour = "zai", SERVER("https://api.z.ai/api/paas/v4", "ZAI_API_BASE", "ZAI_API_KEY")
#define SERVER_TOGETHER \
	.flavour = "together", SERVER("https://api.together.xyz/v1", "TOGETHERAI_API_BASE", "TOGETHERAI_API_KEY")
#define SERVER_FIREWORKS \
	.flavour = "fireworks", SERVER("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_BASE", "FIREWORKS_API_KEY")
#define SERVER_NVIDIA_NIM \
	.flavour = "nvidia_nim", SERVER("https://integrate.api.nvidia.com/v1", "NVIDIA_NIM_API_BASE", "NVIDIA_NIM_API_KEY")
#define SERVER_HUGGINGFACE \
	.flavour = "huggingface", SERVER("https://router.huggingface.co/v1", "HUGGINGFACE_API_BASE", "HF_TOKEN")
#define SERVER_CUA_PLAIN \
	SERVER("https://inference.cua.ai/v1", "CUA_BASE_URL", "CUA_INFERENCE_API_KEY|CUA_API_KEY")
#define SERVER_CUA \
	.flavour = "cua", SERVER_CUA_PLAIN
#define SERVER_AZURE \
	.flavour = "azure", SERVER(NULL, "AZURE_API_BASE", "AZURE_API_KEY")
#define SERVER_OLLAMA \
	.flavour = "ollama", .key_optional = true, SERVER("http://localhost:11434/v1", "OLLAMA_API_BASE", "OLLAMA_API_KEY")
#define SERVER_LM_STUDIO \
	.flavour = "lm_studio", .key_optional = true, SERVER("http://localhost:1234/v1", "LM_STUDIO_API_BASE", "LM_STUDIO_API_KEY")
#define SERVER_LLAMACPP \
	.flavour = "llamacpp", .key_optional = true, SERVER("http://localhost:8080/v1", "LLAMACPP_API_BASE", "LLAMACPP_API_KEY")
#define SERVER_VLLM \
	.flavour = "vllm", .key_optional = true, SERVER(NULL, "HOSTED_VLLM_API_BASE", "HOSTED_VLLM_API_KEY")
#define SERVER_CHAT \
	SERVER(NULL, "OPENAI_BASE_URL", "OPENAI_API_KEY")
// clang-format on

#endif
