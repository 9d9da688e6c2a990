# SPDX-License-Identifier: Apache-2.0
"""OpenHands' own client, RemoteConversation of openhands-sdk as it is, against thole serve --openhands."""

import os
import pathlib
import tempfile
import threading
import time
import uuid

from openhands.sdk import LLM, Agent, Conversation, RemoteWorkspace
from openhands.sdk.conversation.exceptions import ConversationRunError
from openhands.sdk.conversation.impl.remote_conversation import RemoteConversation
from openhands.sdk.conversation.response_utils import get_agent_final_response
from openhands.sdk.conversation.state import ConversationExecutionStatus as Status
from openhands.sdk.event import ActionEvent, AgentErrorEvent, MessageEvent, ObservationEvent, UserRejectObservation
from openhands.sdk.secret import LookupSecret, StaticSecret
from openhands.sdk.security.confirmation_policy import AlwaysConfirm, NeverConfirm
from openhands.sdk.tool.client_tool import ClientToolSpec
from pydantic import SecretStr

HOST, TOKEN = "http://127.0.0.1:" + os.environ["PORT"], os.environ["TOKEN"]


def workspace(token=TOKEN):
    return RemoteWorkspace(host=HOST, api_key=token, working_dir="/anywhere")


def agent(model="thole/default", stream=False):
    return Agent(llm=LLM(model=model, api_key=SecretStr("a-key-of-the-client"), usage_id="agent", stream=stream), tools=[])


def begin(**more):
    return Conversation(agent=more.pop("agent", agent()), workspace=workspace(), visualizer=None, delete_on_close=False, **more)


def kinds(conversation, *wanted):
    return [e for e in conversation.state.events if isinstance(e, wanted)]


def texts(conversation):
    return [(e.source, e.llm_message.content[0].text) for e in kinds(conversation, MessageEvent)]


def same_as_asked(conversation):
    """What came over the socket is what a search gives, in its order, once each."""
    mine = [e.id for e in conversation.state.events if type(e).__name__ != "ConversationStateUpdateEvent"]
    other = begin(conversation_id=conversation.id)
    theirs = [e.id for e in other.state.events if type(e).__name__ != "ConversationStateUpdateEvent"]
    other.close()
    assert mine == theirs and len(set(mine)) == len(mine), (mine, theirs)


def a_conversation():
    seen = []
    assert workspace().alive and workspace().get_server_info()["title"] == "thole"
    c = begin(callbacks=[seen.append], tags={"team": "red"}, max_iteration_per_run=40)
    assert c.state.execution_status == Status.IDLE
    c.send_message("count")
    c.state.events.reconcile()
    assert c.state.execution_status == Status.IDLE and texts(c) == [("user", "count")], texts(c)
    began = time.monotonic()
    c.run()
    assert time.monotonic() - began < 15, "a run's end is told, not guessed"
    assert c.state.execution_status == Status.FINISHED
    assert texts(c)[-1] == ("agent", os.environ["SAID"]), texts(c)
    assert get_agent_final_response(c.state.events) == os.environ["SAID"]
    assert any(isinstance(e, MessageEvent) and e.source == "agent" for e in seen)
    assert c.state.agent.llm.model and c.state.persistence_dir is not None
    assert c.conversation_stats.get_combined_metrics().accumulated_token_usage.prompt_tokens > 0
    assert c.ask_agent("How far?") == os.environ["SAID"] and len(texts(c)) == 2
    c.set_title("Counting")
    c.condense()
    c.run()  # nothing new was said
    c.send_message("count")
    c.run()
    assert len([t for t in texts(c) if t[0] == "agent"]) == 2, texts(c)
    same_as_asked(c)
    info = c.state.refresh_from_server()
    assert info["title"] == "Counting" and info["tags"] == {"team": "red"} and info["max_iterations"] == 40
    fork = c.fork()
    assert fork.id != c.id and texts(fork) == texts(c)
    fork.delete_on_close = True  # before what it shares its events with
    fork.close()
    c.delete_on_close = True
    c.close()
    again = begin(conversation_id=c.id)  # it was deleted: the name is free
    assert texts(again) == []
    again.close()


def confirmation():
    c = begin()
    c.set_confirmation_policy(AlwaysConfirm())
    assert c.state.refresh_from_server()["confirmation_policy"]["kind"] == "AlwaysConfirm"
    c.send_message("write a")
    c.run()
    assert c.state.execution_status == Status.WAITING_FOR_CONFIRMATION
    c.reject_pending_actions("not that")
    c.run()
    assert c.state.execution_status == Status.FINISHED
    assert [e.rejection_reason for e in kinds(c, UserRejectObservation)] == ["not that"]
    assert not (WORK / str(c.id) / "a").exists()
    c.send_message("write b")
    c.run()
    assert c.state.execution_status == Status.WAITING_FOR_CONFIRMATION
    c.run()  # which is how its people approve
    assert c.state.execution_status == Status.FINISHED
    assert (WORK / str(c.id) / "b").read_text() == "b"
    assert [e.tool_name for e in kinds(c, ObservationEvent)] == ["write_file"]
    c.set_confirmation_policy(NeverConfirm())
    c.send_message("write c")
    c.run()
    assert (WORK / str(c.id) / "c").read_text() == "c"
    for action in kinds(c, ActionEvent):
        assert action.action is not None
    same_as_asked(c)
    c.close()


def pause_and_failure():
    c = begin()
    c.send_message("slow")
    c.run(blocking=False)
    while not any(isinstance(e, ActionEvent) for e in c.state.events):
        time.sleep(0.05)
    c.pause()
    while c.state.refresh_from_server()["execution_status"] == "running":
        time.sleep(0.05)
    assert c.state.refresh_from_server()["execution_status"] == "paused"
    c.run()
    assert c.state.execution_status == Status.FINISHED, c.state.execution_status
    c.send_message("fail")
    try:
        c.run()
        raise AssertionError("it fails")
    except ConversationRunError as why:
        assert why.conversation_error is not None
    same_as_asked(c)
    c.close()


def secrets():
    c = begin(secrets={"DEPLOY": "a value of nobody's"})
    c.update_secrets({"KEY": StaticSecret(value=SecretStr("another of nobody's")), "MADE": lambda: "made of nobody's"})
    c.send_message("secret")
    c.run()
    assert (WORK / str(c.id) / "secret").read_text() == "a value of nobody's another of nobody's made of nobody's\n"
    (seen,) = kinds(c, ObservationEvent)
    assert "*" * 19 in seen.observation.content[0].text and "nobody" not in seen.model_dump_json(), seen
    c.close()


def tools_of_its_own():
    """The client reads the call in its own type; who attaches later reads it, too."""
    show = ClientToolSpec(name="show", description="Shows a page.",
                          parameters={"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]})
    shown = []
    c = begin(client_tools=[show], callbacks=[lambda e: shown.append(e.action) if isinstance(e, ActionEvent) and e.tool_name == "show" else None])
    c.send_message("show it")
    c.run()
    assert [a.url for a in shown] == ["a"], shown
    (seen,) = kinds(c, ObservationEvent)
    assert type(seen.observation).__name__ == "ClientToolObservation" and seen.action_id == kinds(c, ActionEvent)[0].id, seen
    attached = RemoteConversation.attach(workspace(), c.id, visualizer=None)
    assert [a.action.url for a in kinds(attached, ActionEvent)] == ["a"]
    attached.close()
    same_as_asked(c)
    c.close()


def forks_at_an_event():
    c = begin()
    c.send_message("count")
    c.run()
    first = kinds(c, MessageEvent)[0]
    fork = c.fork(from_event_id=first.id, title="Again")
    assert fork.state.execution_status == Status.IDLE and texts(fork) == [("user", "count")], texts(fork)
    fork.run()
    assert fork.state.execution_status == Status.FINISHED and texts(fork) == texts(c)
    fork.close()
    c.close()


def what_it_may_begin_with():
    mine = workspace()
    for llm in (mine.get_llm(), mine.get_llm("default")):
        assert llm.model == "thole/default", llm
        c = begin(agent=Agent(llm=llm, tools=[]))
        c.send_message("count")
        c.run()
        assert texts(c)[-1] == ("agent", os.environ["SAID"])
        c.close()
    try:
        mine.get_llm("nobody")
        raise AssertionError("nobody")
    except FileNotFoundError:
        pass
    assert mine.get_secrets() == {} and mine.get_mcp_config() == {}


def strangers():
    try:
        Conversation(agent=agent(), workspace=workspace("no-token-of-anybody"), visualizer=None)
        raise AssertionError("without a token")
    except Exception as why:  # noqa: BLE001
        assert "401" in str(why), why
    for model in ("gpt-9", "thole/nobody"):
        try:
            begin(agent=agent(model))
            raise AssertionError(model)
        except Exception as why:  # noqa: BLE001
            assert "422" in str(why), why
    c = begin(agent=agent("openai/gpt-5.4"))  # a model that the server lends
    for bad in ({"TOKEN": "short"}, {"TOKEN": LookupSecret(url=HOST + "/x")}):
        try:
            c.update_secrets(bad)
            raise AssertionError("secrets")
        except Exception as why:  # noqa: BLE001
            assert "422" in str(why), why
    assert c.workspace.execute_command("id").exit_code != 0  # in no conversation's folder
    c.close()


def its_own_work():
    """What a client does itself in the conversation's folder, by its scope and by the folder's path."""
    c = begin()
    folder = c.state.refresh_from_server()["workspace"]["working_dir"]
    for mine in (RemoteWorkspace(host=HOST, api_key=TOKEN, working_dir=folder),
                 RemoteWorkspace(host=HOST, api_key=TOKEN, working_dir=folder, runtime_conversation_id=c.id)):
        done = mine.execute_command("echo out; echo err >&2; pwd; exit 3", cwd=folder)
        assert (done.exit_code, done.stdout, done.stderr) == (3, "out\n%s\n" % folder, "err\n"), done
        slow = mine.execute_command("sleep 60", cwd=folder, timeout=1)
        assert slow.timeout_occurred and slow.exit_code == -1, slow
        sent = mine.file_upload(b"\0bytes\xff", folder + "/in/it")
        assert sent.success and sent.file_size == 7, sent
        with tempfile.TemporaryDirectory() as place:
            got = mine.file_download(folder + "/in/it", place + "/it")
            assert got.success and pathlib.Path(place, "it").read_bytes() == b"\0bytes\xff", got
            assert not mine.file_download("/etc/hostname", place + "/no").success
        setup = "git init -q . && git add in && git -c user.name=a -c user.email=a@example.org commit -qm x; echo more >> in/it; echo b > b"
        assert mine.execute_command(setup, cwd=folder).exit_code == 0
        assert sorted((x.status.name, str(x.path)) for x in mine.git_changes(".")) == [("ADDED", "b"), ("UPDATED", "in/it")]
        assert mine.git_diff("b").modified == "b" and mine.git_diff("b").original == ""
        command = mine.start_command("sleep 60", cwd=folder)
        mine.stop_command(command)
        while not (end := mine.get_command_output(command)):
            time.sleep(0.05)
        assert end["exit_code"] == -1, end
        assert mine.execute_command("rm -rf .git in b", cwd=folder).exit_code == 0
    c.close()


if __name__ == "__main__":
    WORK = pathlib.Path(os.environ["WORKSPACES"])
    for part in (a_conversation, confirmation, pause_and_failure, its_own_work, secrets, tools_of_its_own, forks_at_an_event, what_it_may_begin_with, strangers):
        part()
        print(part.__name__, "ok", flush=True)
