import io.a2a.client.Client;
import io.a2a.client.ClientBuilder;
import io.a2a.client.ClientEvent;
import io.a2a.client.MessageEvent;
import io.a2a.client.TaskEvent;
import io.a2a.client.TaskUpdateEvent;
import io.a2a.client.config.ClientConfig;
import io.a2a.client.http.A2ACardResolver;
import io.a2a.client.transport.jsonrpc.JSONRPCTransport;
import io.a2a.client.transport.jsonrpc.JSONRPCTransportConfig;
import io.a2a.client.transport.rest.RestTransport;
import io.a2a.client.transport.rest.RestTransportConfig;
import io.a2a.client.transport.spi.interceptors.ClientCallContext;
import io.a2a.jsonrpc.common.wrappers.ListTasksResult;
import io.a2a.spec.AgentCard;
import io.a2a.spec.FilePart;
import io.a2a.spec.FileWithBytes;
import io.a2a.spec.ListTasksParams;
import io.a2a.spec.Message;
import io.a2a.spec.MessageSendConfiguration;
import io.a2a.spec.MessageSendParams;
import io.a2a.spec.Part;
import io.a2a.spec.PushNotificationConfig;
import io.a2a.spec.Task;
import io.a2a.spec.TaskArtifactUpdateEvent;
import io.a2a.spec.TaskIdParams;
import io.a2a.spec.TaskPushNotificationConfig;
import io.a2a.spec.TaskQueryParams;
import io.a2a.spec.TaskState;
import io.a2a.spec.TextPart;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;

/**
 * The official Java SDK as a client of the gateway over JSON-RPC and REST. Its gRPC transport speaks an earlier
 * draft, whose package has another name.
 *
 * <p>Argument: base URL of the gateway. Prints one JSON object a line: transport, operation, outcome, detail.
 */
public final class Interop {
    private static final String EXTENSION = "urn:switchyard:interop:required";

    private interface Operation {
        void run() throws Exception;
    }

    private final String transport;
    private final AgentCard card;
    private final Client unary;
    private final Client streaming;

    private Interop(String base, String transport) throws Exception {
        this.transport = transport;
        this.card = new A2ACardResolver(base).getAgentCard();
        this.unary = client(card, false);
        this.streaming = client(card, true);
    }

    private Client client(AgentCard agent, boolean stream) throws Exception {
        ClientBuilder builder = Client.builder(agent)
                .clientConfig(ClientConfig.builder().setStreaming(stream).setUseClientPreference(true).build());
        return transport.equals("JSONRPC")
                ? builder.withTransport(JSONRPCTransport.class, new JSONRPCTransportConfig()).build()
                : builder.withTransport(RestTransport.class, new RestTransportConfig()).build();
    }

    /** This SDK names the version header as an earlier draft did, so the one of 1.0 is added to every call. */
    private static ClientCallContext context(String version, String extensions) {
        Map<String, String> headers = new LinkedHashMap<>();
        headers.put("A2A-Version", version);
        if (extensions != null) {
            headers.put("A2A-Extensions", extensions);
        }
        return new ClientCallContext(Map.of(), headers);
    }

    private static ClientCallContext context() {
        return context("1.0", null);
    }

    private static Message.Builder message(Part<?> part) {
        return Message.builder().messageId(UUID.randomUUID().toString()).role(Message.Role.ROLE_USER).parts(part);
    }

    private static Message.Builder text(String content) {
        return message(new TextPart(content));
    }

    /** Interfaces of a card may name a tenant, which this SDK leaves to its callers. */
    private ClientEvent send(String tenant, Message.Builder message, ClientCallContext context) throws Exception {
        Events events = new Events();
        MessageSendParams params = MessageSendParams.builder().message(message.build()).tenant(tenant).build();
        unary.sendMessage(params, List.of(events), events::fail, context);
        return events.next();
    }

    private Task task(Message.Builder message) throws Exception {
        return taskOf(send("", message, context()));
    }

    /** A task that is being worked on: the first event of its stream. */
    private Task started() throws Exception {
        Events events = new Events();
        MessageSendParams params = MessageSendParams.builder().message(text("tck-cancel").build()).build();
        streaming.sendMessage(params, List.of(events), events::fail, context());
        return taskOf(events.next());
    }

    private static Task taskOf(ClientEvent event) {
        check(event instanceof TaskEvent, "a " + event.getClass().getSimpleName() + " came back");
        return ((TaskEvent) event).getTask();
    }

    private static void check(boolean condition, String what) {
        if (!condition) {
            throw new IllegalStateException(what);
        }
    }

    /** Events of one call, in order, whichever thread delivers them. */
    private static final class Events implements BiConsumer<ClientEvent, AgentCard> {
        private final BlockingQueue<Object> queue = new LinkedBlockingQueue<>();

        @Override
        public void accept(ClientEvent event, AgentCard card) {
            queue.add(event);
        }

        void fail(Throwable error) {
            if (error != null) {
                queue.add(error);
            }
        }

        ClientEvent next() throws Exception {
            Object next = queue.poll(15, TimeUnit.SECONDS);
            if (next == null) {
                throw new TimeoutException("no event");
            }
            if (next instanceof Throwable error) {
                throw new Exception(error);
            }
            return (ClientEvent) next;
        }
    }

    private static String chunk(TaskArtifactUpdateEvent update) {
        return update.append() + ((TextPart) update.artifact().parts().get(0)).text();
    }

    private static TaskState stateOf(ClientEvent event) {
        return event instanceof TaskUpdateEvent update ? update.getTask().status().state() : taskOf(event).status().state();
    }

    private void discover() {
        check(card.supportedInterfaces().stream().anyMatch(one -> one.protocolBinding().equals(transport)), "not in the card");
        check(card.capabilities().streaming(), "streaming is not announced");
    }

    private void send() throws Exception {
        Task task = task(text("tck-complete-task"));
        check(task.status().state() == TaskState.TASK_STATE_COMPLETED, "state " + task.status().state());
        check(((TextPart) task.status().message().parts().get(0)).text().equals("Hello from TCK"), "status message");
        ClientEvent answer = send("", text("tck-message-response"), context());
        check(answer instanceof MessageEvent, "no direct message");
        Part<?> part = ((MessageEvent) answer).getMessage().parts().get(0);
        check(((TextPart) part).text().equals("Direct message response"), "direct message");
    }

    private void immediate() throws Exception {
        Events events = new Events();
        MessageSendParams params = MessageSendParams.builder()
                .message(text("tck-long-running").build())
                .configuration(MessageSendConfiguration.builder().blocking(false).build())
                .build();
        unary.sendMessage(params, List.of(events), events::fail, context());
        Task task = taskOf(events.next());
        TaskState state = task.status().state();
        check(state == TaskState.TASK_STATE_SUBMITTED || state == TaskState.TASK_STATE_WORKING, "state " + state);
    }

    private void stream() throws Exception {
        Events events = new Events();
        MessageSendParams params = MessageSendParams.builder().message(text("tck-stream-chunked").build()).build();
        streaming.sendMessage(params, List.of(events), events::fail, context());
        ClientEvent event = events.next();
        check(event instanceof TaskEvent, "the first event is a " + event.getClass().getSimpleName());
        List<String> chunks = new ArrayList<>();
        while (!stateOf(event).isFinal()) {
            event = events.next();
            if (event instanceof TaskUpdateEvent update && update.getUpdateEvent() instanceof TaskArtifactUpdateEvent one) {
                chunks.add(chunk(one));
            }
        }
        check(chunks.equals(List.of("falsechunk-1 ", "truechunk-2")), "chunks " + chunks);
        check(stateOf(event) == TaskState.TASK_STATE_COMPLETED, "last state " + stateOf(event));
    }

    private void get() throws Exception {
        Task sent = task(text("tck-artifact-text"));
        Task task = unary.getTask(new TaskQueryParams(sent.id(), 1), context());
        check(task.history().size() <= 1, "history is longer than asked for");
        check(((TextPart) task.artifacts().get(0).parts().get(0)).text().equals("Generated text content"), "artifact");
    }

    private void list() throws Exception {
        String contextId = UUID.randomUUID().toString();
        for (int i = 0; i < 3; i++) {
            task(text("tck-complete-task").contextId(contextId));
        }
        ListTasksParams.Builder params = ListTasksParams.builder().contextId(contextId).pageSize(2).tenant("");
        ListTasksResult first = unary.listTasks(params.build(), context());
        check(first.tasks().size() == 2 && first.totalSize() == 3 && first.pageSize() == 2, "first page " + first);
        ListTasksResult second = unary.listTasks(params.pageToken(first.nextPageToken()).build(), context());
        Set<String> ids = new HashSet<>();
        first.tasks().forEach(task -> ids.add(task.id()));
        second.tasks().forEach(task -> ids.add(task.id()));
        check(ids.size() == 3 && !second.hasMoreResults(), "second page " + second);
    }

    private void cancel() throws Exception {
        Task canceled = unary.cancelTask(new TaskIdParams(started().id()), context());
        check(canceled.status().state() == TaskState.TASK_STATE_CANCELED, "state " + canceled.status().state());
    }

    private void subscribe() throws Exception {
        Task task = started();
        Events events = new Events();
        streaming.subscribeToTask(new TaskIdParams(task.id()), List.of(events), events::fail, context());
        ClientEvent event = events.next();
        check(taskOf(event).id().equals(task.id()), "the first event is not the task");
        unary.cancelTask(new TaskIdParams(task.id()), context());
        while (!stateOf(event).isFinal()) {
            event = events.next();
        }
        check(stateOf(event) == TaskState.TASK_STATE_CANCELED, "last state " + stateOf(event));
    }

    private void followUp() throws Exception {
        Task waiting = task(text("tck-multi-turn"));
        check(waiting.status().state() == TaskState.TASK_STATE_INPUT_REQUIRED, "state " + waiting.status().state());
        Task done = task(text("done").taskId(waiting.id()));
        check(done.id().equals(waiting.id()), "another task");
        check(done.status().state() == TaskState.TASK_STATE_COMPLETED, "state " + done.status().state());
    }

    private void taskNotFound() throws Exception {
        unary.getTask(new TaskQueryParams("no-such-task"), context());
    }

    private void taskNotCancelable() throws Exception {
        unary.cancelTask(new TaskIdParams(task(text("tck-complete-task")).id()), context());
    }

    private void pushNotSupported() throws Exception {
        Task task = taskOf(send("plain", text("hello"), context()));
        PushNotificationConfig hook = PushNotificationConfig.builder().url("https://example.com/hook").id("hook").build();
        unary.createTaskPushNotificationConfiguration(new TaskPushNotificationConfig(task.id(), hook, "plain"), context());
    }

    private void unsupportedOperation() throws Exception {
        Events events = new Events();
        TaskIdParams params = new TaskIdParams(task(text("tck-complete-task")).id());
        streaming.subscribeToTask(params, List.of(events), events::fail, context());
        events.next();
    }

    private void contentType() throws Exception {
        send("plain", message(new FilePart(new FileWithBytes("image/png", "a.png", "iVBORw=="))), context());
    }

    private void invalidAgentResponse() throws Exception {
        send("plain", text("invalid"), context());
    }

    private void extendedCard() throws Exception {
        AgentCard extended = unary.getExtendedAgentCard(context());
        check(extended.description().equals("For callers who are known."), extended.description());
    }

    private void extensionRequired() throws Exception {
        send("strict", text("hello"), context("1.0", EXTENSION));
        send("strict", text("hello"), context());
    }

    private void otherVersion() throws Exception {
        unary.getTask(new TaskQueryParams("any"), context("9.9", null));
    }

    private Map<String, Operation> operations() {
        Map<String, Operation> all = new LinkedHashMap<>();
        all.put("discover", this::discover);
        all.put("send", this::send);
        all.put("immediate", this::immediate);
        all.put("stream", this::stream);
        all.put("get", this::get);
        all.put("list", this::list);
        all.put("cancel", this::cancel);
        all.put("subscribe", this::subscribe);
        all.put("follow-up", this::followUp);
        all.put("extended-card", this::extendedCard);
        all.put("TaskNotFound", this::taskNotFound);
        all.put("TaskNotCancelable", this::taskNotCancelable);
        all.put("PushNotificationNotSupported", this::pushNotSupported);
        all.put("UnsupportedOperation", this::unsupportedOperation);
        all.put("ContentTypeNotSupported", this::contentType);
        all.put("InvalidAgentResponse", this::invalidAgentResponse);
        all.put("ExtensionSupportRequired", this::extensionRequired);
        all.put("VersionNotSupported", this::otherVersion);
        return all;
    }

    /** Empty when the operation ended as its name says: with that error, or for a name in lower case with none. */
    private static String fault(String name, Operation operation, ExecutorService threads) {
        boolean wantsError = Character.isUpperCase(name.charAt(0));
        try {
            threads.submit(() -> {
                operation.run();
                return null;
            }).get(20, TimeUnit.SECONDS);
            return wantsError ? "no error" : "";
        } catch (Exception thrown) {
            String chain = "";
            for (Throwable cause = thrown.getCause(); cause != null; cause = cause.getCause()) {
                if (cause.getClass().getSimpleName().equals(name + "Error")) {
                    return "";
                }
                chain += cause.getClass().getSimpleName() + ": " + cause.getMessage() + "; ";
            }
            return chain.isEmpty() ? thrown.toString() : chain;
        }
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            out.append(c < ' ' ? " " : c == '"' || c == '\\' ? "\\" + c : String.valueOf(c));
        }
        return out.append('"').toString();
    }

    private void close() {
        unary.close();
        streaming.close();
    }

    public static void main(String[] args) throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        for (String transport : List.of("JSONRPC", "HTTP+JSON")) {
            Interop interop = new Interop(args[0], transport);
            interop.operations().forEach((name, operation) -> {
                String fault = fault(name, operation, threads);
                System.out.printf("{\"transport\":%s,\"operation\":%s,\"outcome\":%s,\"detail\":%s}%n",
                        quoted(transport), quoted(name), quoted(fault.isEmpty() ? "ok" : "failed"), quoted(fault));
            });
            interop.close();
        }
        System.exit(0);
    }
}
