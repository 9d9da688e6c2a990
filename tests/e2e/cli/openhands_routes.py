# SPDX-License-Identifier: Apache-2.0
"""Every path of openhands-agent-server 1.58.2 with its methods, as its own program declares them; a WebSocket is a GET."""

ROUTES = """
/ GET
/alive GET
/api/acp/models POST
/api/agent-profiles GET
/api/agent-profiles/{name} DELETE GET POST
/api/agent-profiles/{name}/materialize POST
/api/agent-profiles/{name}/rename POST
/api/agent-profiles/{profile_id}/activate POST
/api/auth/workspace-session DELETE POST
/api/bash/bash_commands/{id}/stop POST
/api/bash/bash_events DELETE
/api/bash/bash_events/ GET
/api/bash/bash_events/search GET
/api/bash/bash_events/{event_id} GET
/api/bash/execute_bash_command POST
/api/bash/start_bash_command POST
/api/canvas-extensions/install POST
/api/canvas-extensions/installed GET
/api/canvas-extensions/installed/{extension_name} DELETE GET PATCH
/api/canvas-extensions/installed/{extension_name}/backend GET
/api/canvas-extensions/installed/{extension_name}/backend/data DELETE
/api/canvas-extensions/installed/{extension_name}/backend/logs GET
/api/canvas-extensions/installed/{extension_name}/backend/prepare POST
/api/canvas-extensions/installed/{extension_name}/backend/start POST
/api/canvas-extensions/installed/{extension_name}/backend/stop POST
/api/canvas-extensions/installed/{extension_name}/bundle GET
/api/canvas-extensions/installed/{extension_name}/icon GET
/api/conversations GET POST
/api/conversations/count GET
/api/conversations/prepare-for-sandbox-pause POST
/api/conversations/search GET
/api/conversations/{id} DELETE GET PATCH
/api/conversations/{id}/agent_final_response GET
/api/conversations/{id}/ask_agent POST
/api/conversations/{id}/bash/bash_commands/{id}/stop POST
/api/conversations/{id}/bash/bash_events DELETE
/api/conversations/{id}/bash/bash_events/ GET
/api/conversations/{id}/bash/bash_events/search GET
/api/conversations/{id}/bash/bash_events/{event_id} GET
/api/conversations/{id}/bash/execute_bash_command POST
/api/conversations/{id}/bash/start_bash_command POST
/api/conversations/{id}/children POST
/api/conversations/{id}/condense POST
/api/conversations/{id}/confirmation_policy POST
/api/conversations/{id}/credential-bindings/{secret_name} PUT
/api/conversations/{id}/events GET POST
/api/conversations/{id}/events/count GET
/api/conversations/{id}/events/respond_to_confirmation POST
/api/conversations/{id}/events/search GET
/api/conversations/{id}/events/{event_id} GET
/api/conversations/{id}/file/download GET
/api/conversations/{id}/file/upload POST
/api/conversations/{id}/fork POST
/api/conversations/{id}/git/changes GET
/api/conversations/{id}/git/commits GET
/api/conversations/{id}/git/commits/{sha}/changes GET
/api/conversations/{id}/git/diff GET
/api/conversations/{id}/goal POST
/api/conversations/{id}/goal/resume POST
/api/conversations/{id}/goal/stop POST
/api/conversations/{id}/interrupt POST
/api/conversations/{id}/load_plugin POST
/api/conversations/{id}/navigate POST
/api/conversations/{id}/pause POST
/api/conversations/{id}/run POST
/api/conversations/{id}/runtime DELETE GET
/api/conversations/{id}/runtime/credentials POST
/api/conversations/{id}/runtime/reprovision POST
/api/conversations/{id}/secrets POST
/api/conversations/{id}/security_analyzer POST
/api/conversations/{id}/switch_acp_model POST
/api/conversations/{id}/switch_llm POST
/api/conversations/{id}/switch_profile POST
/api/conversations/{id}/workspace GET
/api/conversations/{id}/workspace/{file_path} GET
/api/file/archive GET
/api/file/create_directory POST
/api/file/download GET
/api/file/download-trajectory/{id} GET
/api/file/home GET
/api/file/search_subdirs GET
/api/file/upload POST
/api/git/changes GET
/api/git/commits GET
/api/git/commits/{sha}/changes GET
/api/git/diff GET
/api/git/repositories/search GET
/api/hooks POST
/api/init GET POST
/api/llm/models GET
/api/llm/models/verified GET
/api/llm/provider-connections GET POST
/api/llm/provider-connections/{connection_id} DELETE PATCH
/api/llm/providers GET
/api/llm/subscription/openai/device/poll POST
/api/llm/subscription/openai/device/start POST
/api/llm/subscription/openai/logout POST
/api/llm/subscription/openai/models GET
/api/llm/subscription/openai/status GET
/api/mcp/oauth/callback/{job_id} POST
/api/mcp/oauth/start POST
/api/mcp/oauth/status/{job_id} GET
/api/mcp/test POST
/api/meta-profiles GET
/api/meta-profiles/{name} DELETE GET POST
/api/meta-profiles/{name}/activate POST
/api/plugins POST
/api/plugins/fetch POST
/api/plugins/install POST
/api/plugins/installed GET
/api/plugins/installed/{plugin_name} DELETE GET PATCH
/api/plugins/installed/{plugin_name}/refresh POST
/api/plugins/marketplace GET
/api/profiles GET
/api/profiles/{name} DELETE GET POST
/api/profiles/{name}/activate POST
/api/profiles/{name}/rename POST
/api/profiles/{name}/validate POST
/api/settings GET PATCH
/api/settings/agent-schema GET
/api/settings/conversation-schema GET
/api/settings/mcp/{settings_key} DELETE PATCH POST
/api/settings/secrets GET PUT
/api/settings/secrets/{name} DELETE GET
/api/skills POST
/api/skills/catalog GET
/api/skills/install POST
/api/skills/installed GET
/api/skills/installed/{skill_name} DELETE GET PATCH
/api/skills/installed/{skill_name}/refresh POST
/api/skills/marketplace GET
/api/skills/sync POST
/api/sub-agents POST
/api/tools/ GET
/api/tools/catalog GET
/api/vscode/status GET
/api/vscode/url GET
/api/workspaces DELETE GET POST
/api/workspaces/parents DELETE POST
/app-backends/{extension_name} GET
/app-backends/{extension_name}/session DELETE POST
/app-backends/{extension_name}/{path} GET
/health GET
/ready GET
/server_info GET
/sockets/bash-events GET
/sockets/events/{id} GET
/sockets/session/{id} GET
/v1/chat/completions POST
/v1/models GET
/v1/responses POST
"""
