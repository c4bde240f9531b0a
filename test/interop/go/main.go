// The official Go SDK as a client of the gateway, on each of its transports.
//
// Argument: base URL of the gateway. Prints one JSON object a line: transport, operation, outcome, detail.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const extension = "urn:switchyard:interop:required"

// session holds the clients of one transport: one for each agent, and one that claims another version.
type session struct {
	transport             a2a.TransportProtocol
	card                  *a2a.AgentCard
	main, plain, strict   *a2aclient.Client
	mainOfAnotherProtocol *a2aclient.Client
}

type operation struct {
	name string
	try  func(context.Context, *session) error
	// want is the error that the operation must end with; nil where it must succeed.
	want error
}

var operations = []operation{
	{"discover", discover, nil},
	{"send", send, nil},
	{"immediate", immediate, nil},
	{"stream", stream, nil},
	{"get", get, nil},
	{"list", list, nil},
	{"cancel", cancel, nil},
	{"subscribe", subscribe, nil},
	{"follow-up", followUp, nil},
	{"extended-card", extendedCard, nil},
	{"TaskNotFound", taskNotFound, a2a.ErrTaskNotFound},
	{"TaskNotCancelable", taskNotCancelable, a2a.ErrTaskNotCancelable},
	{"PushNotificationNotSupported", pushNotSupported, a2a.ErrPushNotificationNotSupported},
	{"UnsupportedOperation", unsupportedOperation, a2a.ErrUnsupportedOperation},
	{"ContentTypeNotSupported", contentType, a2a.ErrUnsupportedContentType},
	{"InvalidAgentResponse", invalidAgentResponse, a2a.ErrInvalidAgentResponse},
	{"ExtensionSupportRequired", extensionRequired, a2a.ErrExtensionSupportRequired},
	{"VersionNotSupported", otherVersion, a2a.ErrVersionNotSupported},
}

func check(condition bool, format string, args ...any) error {
	if condition {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func text(content string) *a2a.Message {
	return a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(content))
}

func sendTo(ctx context.Context, client *a2aclient.Client, message *a2a.Message, immediately bool) (a2a.SendMessageResult, error) {
	return client.SendMessage(ctx, &a2a.SendMessageRequest{
		Message: message,
		Config:  &a2a.SendMessageConfig{ReturnImmediately: immediately},
	})
}

func taskOf(ctx context.Context, client *a2aclient.Client, message *a2a.Message, immediately bool) (*a2a.Task, error) {
	result, err := sendTo(ctx, client, message, immediately)
	if err != nil {
		return nil, err
	}
	task, ok := result.(*a2a.Task)
	if !ok {
		return nil, fmt.Errorf("a %T came back", result)
	}
	return task, nil
}

func discover(_ context.Context, s *session) error {
	for _, offered := range s.card.SupportedInterfaces {
		if offered.ProtocolBinding == s.transport {
			return check(s.card.Capabilities.Streaming, "streaming is not announced")
		}
	}
	return fmt.Errorf("%s is not in the card", s.transport)
}

func send(ctx context.Context, s *session) error {
	task, err := taskOf(ctx, s.main, text("tck-complete-task"), false)
	if err != nil {
		return err
	}
	if err := check(task.Status.State == a2a.TaskStateCompleted, "state %s", task.Status.State); err != nil {
		return err
	}
	if said := task.Status.Message.Parts[0].Text(); said != "Hello from TCK" {
		return fmt.Errorf("status message %q", said)
	}
	answer, err := sendTo(ctx, s.main, text("tck-message-response"), false)
	if err != nil {
		return err
	}
	message, ok := answer.(*a2a.Message)
	return check(ok && message.Parts[0].Text() == "Direct message response", "direct message %v", answer)
}

func immediate(ctx context.Context, s *session) error {
	task, err := taskOf(ctx, s.main, text("tck-cancel"), true)
	if err != nil {
		return err
	}
	if _, err := s.main.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
		return err
	}
	state := task.Status.State
	return check(state == a2a.TaskStateSubmitted || state == a2a.TaskStateWorking, "state %s", state)
}

func stream(ctx context.Context, s *session) error {
	var chunks []string
	var last a2a.Event
	for event, err := range s.main.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: text("tck-stream-chunked")}) {
		if err != nil {
			return err
		}
		if last == nil {
			if _, ok := event.(*a2a.Task); !ok {
				return fmt.Errorf("the first event is a %T", event)
			}
		}
		if update, ok := event.(*a2a.TaskArtifactUpdateEvent); ok {
			chunks = append(chunks, fmt.Sprint(update.Append, update.Artifact.Parts[0].Text()))
		}
		last = event
	}
	if err := check(fmt.Sprint(chunks) == "[falsechunk-1  truechunk-2]", "chunks %q", chunks); err != nil {
		return err
	}
	return endsIn(last, a2a.TaskStateCompleted)
}

func endsIn(last a2a.Event, state a2a.TaskState) error {
	update, ok := last.(*a2a.TaskStatusUpdateEvent)
	return check(ok && update.Status.State == state, "the last event is %v", last)
}

func get(ctx context.Context, s *session) error {
	sent, err := taskOf(ctx, s.main, text("tck-artifact-text"), false)
	if err != nil {
		return err
	}
	one := 1
	task, err := s.main.GetTask(ctx, &a2a.GetTaskRequest{ID: sent.ID, HistoryLength: &one})
	if err != nil {
		return err
	}
	if err := check(len(task.History) <= 1, "history is longer than asked for"); err != nil {
		return err
	}
	return check(task.Artifacts[0].Parts[0].Text() == "Generated text content", "artifact")
}

func list(ctx context.Context, s *session) error {
	contextID := a2a.NewContextID()
	for range 3 {
		message := text("tck-complete-task")
		message.ContextID = contextID
		if _, err := sendTo(ctx, s.main, message, false); err != nil {
			return err
		}
	}
	first, err := s.main.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: contextID, PageSize: 2})
	if err != nil {
		return err
	}
	if err := check(len(first.Tasks) == 2 && first.TotalSize == 3 && first.PageSize == 2, "first page"); err != nil {
		return err
	}
	second, err := s.main.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: contextID, PageSize: 2, PageToken: first.NextPageToken})
	if err != nil {
		return err
	}
	ids := map[a2a.TaskID]bool{}
	for _, task := range append(first.Tasks, second.Tasks...) {
		ids[task.ID] = true
	}
	return check(len(ids) == 3 && second.NextPageToken == "", "second page")
}

func cancel(ctx context.Context, s *session) error {
	task, err := taskOf(ctx, s.main, text("tck-cancel"), true)
	if err != nil {
		return err
	}
	canceled, err := s.main.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID})
	if err != nil {
		return err
	}
	return check(canceled.Status.State == a2a.TaskStateCanceled, "state %s", canceled.Status.State)
}

func subscribe(ctx context.Context, s *session) error {
	task, err := taskOf(ctx, s.main, text("tck-cancel"), true)
	if err != nil {
		return err
	}
	var last a2a.Event
	for event, err := range s.main.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID}) {
		if err != nil {
			return err
		}
		if last == nil {
			snapshot, ok := event.(*a2a.Task)
			if !ok || snapshot.ID != task.ID {
				return fmt.Errorf("the first event is %v", event)
			}
			if _, err := s.main.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID}); err != nil {
				return err
			}
		}
		last = event
	}
	return endsIn(last, a2a.TaskStateCanceled)
}

func followUp(ctx context.Context, s *session) error {
	waiting, err := taskOf(ctx, s.main, text("tck-multi-turn"), false)
	if err != nil {
		return err
	}
	if err := check(waiting.Status.State == a2a.TaskStateInputRequired, "state %s", waiting.Status.State); err != nil {
		return err
	}
	done, err := taskOf(ctx, s.main, a2a.NewMessageForTask(a2a.MessageRoleUser, waiting, a2a.NewTextPart("done")), false)
	if err != nil {
		return err
	}
	return check(done.ID == waiting.ID && done.Status.State == a2a.TaskStateCompleted, "state %s", done.Status.State)
}

func taskNotFound(ctx context.Context, s *session) error {
	_, err := s.main.GetTask(ctx, &a2a.GetTaskRequest{ID: "no-such-task"})
	return err
}

func taskNotCancelable(ctx context.Context, s *session) error {
	task, err := taskOf(ctx, s.main, text("tck-complete-task"), false)
	if err != nil {
		return err
	}
	_, err = s.main.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID})
	return err
}

func pushNotSupported(ctx context.Context, s *session) error {
	task, err := taskOf(ctx, s.plain, text("hello"), false)
	if err != nil {
		return err
	}
	_, err = s.plain.CreateTaskPushConfig(ctx, &a2a.PushConfig{TaskID: task.ID, URL: "https://example.com/hook"})
	return err
}

func unsupportedOperation(ctx context.Context, s *session) error {
	task, err := taskOf(ctx, s.main, text("tck-complete-task"), false)
	if err != nil {
		return err
	}
	for _, err := range s.main.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID}) {
		if err != nil {
			return err
		}
	}
	return nil
}

func contentType(ctx context.Context, s *session) error {
	image := a2a.NewRawPart([]byte("\x89PNG"))
	image.MediaType = "image/png"
	_, err := sendTo(ctx, s.plain, a2a.NewMessage(a2a.MessageRoleUser, image), false)
	return err
}

func invalidAgentResponse(ctx context.Context, s *session) error {
	_, err := sendTo(ctx, s.plain, text("invalid"), false)
	return err
}

func extendedCard(ctx context.Context, s *session) error {
	card, err := s.main.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{})
	if err != nil {
		return err
	}
	return check(card.Description == "For callers who are known.", "description %q", card.Description)
}

func extensionRequired(ctx context.Context, s *session) error {
	_, refused := sendTo(ctx, s.strict, text("hello"), false)
	with := a2aclient.AttachServiceParams(ctx, a2aclient.ServiceParams{a2a.SvcParamExtensions: {extension}})
	if _, err := sendTo(with, s.strict, text("hello"), false); err != nil {
		return fmt.Errorf("refused with the extension as well: %v", err)
	}
	return refused
}

func otherVersion(ctx context.Context, s *session) error {
	_, err := s.mainOfAnotherProtocol.GetTask(ctx, &a2a.GetTaskRequest{ID: "any"})
	return err
}

// forceVersion replaces the version that the client sends.
type forceVersion struct {
	a2aclient.PassthroughInterceptor
}

func (forceVersion) Before(ctx context.Context, request *a2aclient.Request) (context.Context, any, error) {
	request.ServiceParams[a2a.SvcParamVersion] = []string{"9.9"}
	return ctx, nil, nil
}

func open(ctx context.Context, base string, transport a2a.TransportProtocol) (*session, error) {
	options := []a2aclient.FactoryOption{
		a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{transport}}),
		a2agrpc.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials())),
	}
	s := &session{transport: transport}
	clients := []struct {
		path    string
		client  **a2aclient.Client
		options []a2aclient.FactoryOption
	}{
		{"", &s.main, options},
		{"/plain", &s.plain, options},
		{"/strict", &s.strict, options},
		{"", &s.mainOfAnotherProtocol, append(options, a2aclient.WithCallInterceptors(forceVersion{}))},
	}
	for _, one := range clients {
		card, err := agentcard.DefaultResolver.Resolve(ctx, base+one.path)
		if err != nil {
			return nil, err
		}
		if *one.client, err = a2aclient.NewFromCard(ctx, card, one.options...); err != nil {
			return nil, err
		}
		if one.path == "" {
			s.card = card
		}
	}
	return s, nil
}

func outcome(err, want error) (string, string) {
	switch {
	case want == nil && err == nil, want != nil && errors.Is(err, want):
		return "ok", ""
	case err == nil:
		return "failed", "no error"
	default:
		return "failed", err.Error()
	}
}

func main() {
	lines := json.NewEncoder(os.Stdout)
	for _, transport := range []a2a.TransportProtocol{
		a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON, a2a.TransportProtocolGRPC,
	} {
		s, err := open(context.Background(), os.Args[1], transport)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		for _, op := range operations {
			ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
			result, detail := outcome(op.try(ctx, s), op.want)
			stop()
			line := map[string]string{"transport": string(transport), "operation": op.name, "outcome": result, "detail": detail}
			if err := lines.Encode(line); err != nil {
				os.Exit(1)
			}
		}
	}
}
