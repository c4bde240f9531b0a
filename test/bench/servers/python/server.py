"""The official Python SDK with the echo agent and its memory store, on all its transports."""

import asyncio
import os

import grpc
import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as pb
from a2a.types import a2a_pb2_grpc
from starlette.applications import Starlette

HTTP = int(os.environ["HTTP_PORT"])
GRPC = int(os.environ["GRPC_PORT"])

CARD = pb.AgentCard(
    name="Bench",
    description="Echoes.",
    version="1.0.0",
    capabilities=pb.AgentCapabilities(streaming=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    supported_interfaces=[
        pb.AgentInterface(protocol_binding=binding, url=url, protocol_version="1.0")
        for binding, url in [
            ("JSONRPC", f"http://127.0.0.1:{HTTP}/"),
            ("HTTP+JSON", f"http://127.0.0.1:{HTTP}"),
            ("GRPC", f"127.0.0.1:{GRPC}"),
        ]
    ],
)


class Echo(AgentExecutor):
    async def execute(self, context, event_queue):
        task = pb.Task(
            id=context.task_id,
            context_id=context.context_id,
            status=pb.TaskStatus(state=pb.TASK_STATE_SUBMITTED),
            history=[context.message],
        )
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.start_work()
        await updater.add_artifact(list(context.message.parts), artifact_id="echo", name="echo", last_chunk=True)
        await updater.complete()

    async def cancel(self, context, event_queue):
        raise NotImplementedError


async def main():
    requests = DefaultRequestHandler(agent_executor=Echo(), task_store=InMemoryTaskStore(), agent_card=CARD)
    routes = [*create_jsonrpc_routes(requests, "/"), *create_rest_routes(requests)]
    rpc = grpc.aio.server()
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(requests), rpc)
    rpc.add_insecure_port(f"127.0.0.1:{GRPC}")
    await rpc.start()
    config = uvicorn.Config(Starlette(routes=routes), host="127.0.0.1", port=HTTP, log_level="warning")
    await uvicorn.Server(config).serve()


asyncio.run(main())
