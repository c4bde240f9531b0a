"""The official Python SDK as a client of the gateway, on each of its transports.

Argument: base URL of the gateway. Prints one JSON object a line: transport, operation, outcome, detail.
"""

import asyncio
import json
import sys
import uuid

import grpc
import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver
from a2a.client.client import ClientCallContext
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors

BASE = sys.argv[1]
EXTENSION = "urn:switchyard:interop:required"
TRANSPORTS = ["JSONRPC", "HTTP+JSON", "GRPC"]
State = pb.TaskState


def message(text, **fields):
    part = pb.Part(text=text)
    return pb.Message(message_id=str(uuid.uuid4()), role=pb.ROLE_USER, parts=[part], **fields)


def request(text, immediate=False, **fields):
    configuration = pb.SendMessageConfiguration(return_immediately=immediate)
    return pb.SendMessageRequest(message=message(text, **fields), configuration=configuration)


def image():
    part = pb.Part(raw=b"\x89PNG", media_type="image/png")
    return pb.SendMessageRequest(
        message=pb.Message(message_id=str(uuid.uuid4()), role=pb.ROLE_USER, parts=[part])
    )


def check(condition, what):
    if not condition:
        raise AssertionError(what)


class ForceVersion(grpc.aio.UnaryUnaryClientInterceptor):
    """The SDK sends version 1.0 on gRPC and only appends to it, so another one is put in below it."""

    async def intercept_unary_unary(self, continuation, details, request):
        metadata = grpc.aio.Metadata(("a2a-version", "9.9"))
        return await continuation(details._replace(metadata=metadata), request)


def channel(url):
    return grpc.aio.insecure_channel(url)


def other_version_channel(url):
    return grpc.aio.insecure_channel(url, interceptors=[ForceVersion()])


async def card_of(path=""):
    async with httpx.AsyncClient() as client:
        return await A2ACardResolver(client, BASE + path).get_agent_card()


def client_for(card, transport, streaming=True, factory=channel):
    config = ClientConfig(
        streaming=streaming,
        supported_protocol_bindings=[transport],
        grpc_channel_factory=factory,
    )
    return ClientFactory(config).create(card)


async def collect(stream):
    return [event async for event in stream]


async def wait_for(client, task_id, state):
    for _ in range(200):
        task = await client.get_task(pb.GetTaskRequest(id=task_id))
        if task.status.state == state:
            return task
        await asyncio.sleep(0.02)
    raise AssertionError(f"the task never became {State.Name(state)}")


class Session:
    """Clients of one transport, and the operations to try on them, in the order of the table."""

    def __init__(self, transport):
        self.transport = transport

    async def open(self):
        self.card = await card_of()
        self.plain_card, self.strict_card = await card_of("/plain"), await card_of("/strict")
        self.streaming = client_for(self.card, self.transport)
        self.unary = client_for(self.card, self.transport, streaming=False)
        self.plain = client_for(self.plain_card, self.transport, streaming=False)
        self.strict = client_for(self.strict_card, self.transport, streaming=False)

    async def send(self, sent, client=None):
        [event] = await collect((client or self.unary).send_message(sent))
        return event

    async def start(self, text):
        return (await self.send(request(text, immediate=True))).task

    async def op_discover(self):
        bindings = [interface.protocol_binding for interface in self.card.supported_interfaces]
        check(self.transport in bindings, f"{self.transport} is not in the card")
        check(self.card.capabilities.streaming, "streaming is not announced")

    async def op_send(self):
        task = (await self.send(request("tck-complete-task"))).task
        check(task.status.state == State.TASK_STATE_COMPLETED, State.Name(task.status.state))
        check(task.status.message.parts[0].text == "Hello from TCK", "status message")
        answer = await self.send(request("tck-message-response"))
        check(answer.message.parts[0].text == "Direct message response", "direct message")

    async def op_immediate(self):
        task = await self.start("tck-cancel")
        check(task.status.state in (State.TASK_STATE_SUBMITTED, State.TASK_STATE_WORKING), "state")
        await self.unary.cancel_task(pb.CancelTaskRequest(id=task.id))

    async def op_stream(self):
        events = await collect(self.streaming.send_message(request("tck-stream-chunked")))
        check(events[0].HasField("task"), "the first event is no task")
        updates = [event.artifact_update for event in events if event.HasField("artifact_update")]
        check([u.artifact.parts[0].text for u in updates] == ["chunk-1 ", "chunk-2"], "chunks")
        check([u.append for u in updates] == [False, True], "append")
        check(events[-1].status_update.status.state == State.TASK_STATE_COMPLETED, "last state")

    async def op_get(self):
        sent = (await self.send(request("tck-artifact-text"))).task
        task = await self.unary.get_task(pb.GetTaskRequest(id=sent.id, history_length=1))
        check(task.artifacts[0].parts[0].text == "Generated text content", "artifact")
        check(len(task.history) <= 1, "history is longer than asked for")

    async def op_list(self):
        context_id = str(uuid.uuid4())
        for _ in range(3):
            await self.send(request("tck-complete-task", context_id=context_id))
        first = await self.unary.list_tasks(pb.ListTasksRequest(context_id=context_id, page_size=2))
        check((len(first.tasks), first.total_size, first.page_size) == (2, 3, 2), "first page")
        second = await self.unary.list_tasks(
            pb.ListTasksRequest(context_id=context_id, page_size=2, page_token=first.next_page_token)
        )
        check((len(second.tasks), second.next_page_token) == (1, ""), "second page")
        check(len({task.id for page in (first, second) for task in page.tasks}) == 3, "repeats")

    async def op_cancel(self):
        task = await self.start("tck-cancel")
        canceled = await self.unary.cancel_task(pb.CancelTaskRequest(id=task.id))
        check(canceled.status.state == State.TASK_STATE_CANCELED, State.Name(canceled.status.state))

    async def op_subscribe(self):
        task = await self.start("tck-cancel")
        await wait_for(self.unary, task.id, State.TASK_STATE_WORKING)
        events = []
        async for event in self.streaming.subscribe(pb.SubscribeToTaskRequest(id=task.id)):
            if not events:
                await self.unary.cancel_task(pb.CancelTaskRequest(id=task.id))
            events.append(event)
        check(events[0].task.id == task.id, "the first event is not the task")
        check(events[-1].status_update.status.state == State.TASK_STATE_CANCELED, "last state")

    async def op_follow_up(self):
        waiting = (await self.send(request("tck-multi-turn"))).task
        check(waiting.status.state == State.TASK_STATE_INPUT_REQUIRED, "no input required")
        done = (await self.send(request("done", task_id=waiting.id))).task
        check((done.id, done.status.state) == (waiting.id, State.TASK_STATE_COMPLETED), "follow-up")

    async def op_extended_card(self):
        card = await self.unary.get_extended_agent_card(pb.GetExtendedAgentCardRequest())
        check(card.description == "For callers who are known.", card.description)

    async def err_TaskNotFound(self):
        await self.unary.get_task(pb.GetTaskRequest(id="no-such-task"))

    async def err_TaskNotCancelable(self):
        task = (await self.send(request("tck-complete-task"))).task
        await self.unary.cancel_task(pb.CancelTaskRequest(id=task.id))

    async def err_PushNotificationNotSupported(self):
        task = (await self.send(request("hello"), self.plain)).task
        await self.plain.create_task_push_notification_config(
            pb.TaskPushNotificationConfig(task_id=task.id, url="https://example.com/hook")
        )

    async def err_UnsupportedOperation(self):
        task = (await self.send(request("tck-complete-task"))).task
        await collect(self.streaming.subscribe(pb.SubscribeToTaskRequest(id=task.id)))

    async def err_ContentTypeNotSupported(self):
        await self.send(image(), self.plain)

    async def err_InvalidAgentResponse(self):
        await self.send(request("invalid"), self.plain)

    async def err_ExtensionSupportRequired(self):
        try:
            await self.send(request("hello"), self.strict)
        finally:
            context = ClientCallContext(service_parameters={"A2A-Extensions": EXTENSION})
            [event] = await collect(self.strict.send_message(request("hello"), context=context))
            check(event.HasField("task"), "refused with the extension as well")

    async def err_VersionNotSupported(self):
        client = client_for(self.card, self.transport, streaming=False, factory=other_version_channel)
        context = ClientCallContext(service_parameters={"A2A-Version": "9.9"})
        await client.get_task(pb.GetTaskRequest(id="any"), context=context)

    async def close(self):
        for client in (self.streaming, self.unary, self.plain, self.strict):
            await client.close()


def report(transport, operation, outcome, detail=""):
    line = {"transport": transport, "operation": operation, "outcome": outcome, "detail": detail}
    print(json.dumps(line), flush=True)


async def try_operation(session, name):
    kind, operation = name.split("_", 1)
    try:
        await asyncio.wait_for(getattr(session, name)(), 20)
        outcome, detail = ("ok", "") if kind == "op" else ("failed", "no error")
    except Exception as error:
        expected = getattr(errors, f"{operation}Error", ()) if kind == "err" else ()
        known = isinstance(error, expected)
        outcome, detail = ("ok", "") if known else ("failed", f"{type(error).__name__}: {error}")
    report(session.transport, operation.replace("_", "-"), outcome, detail)


async def main():
    for transport in TRANSPORTS:
        session = Session(transport)
        await session.open()
        for name in vars(Session):
            if name.startswith(("op_", "err_")):
                await try_operation(session, name)
        await session.close()


asyncio.run(main())
