// The official Go SDK with the echo agent and its memory store, on all its transports.
package main

import (
	"context"
	"iter"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"
)

type echo struct{}

func (echo) Execute(_ context.Context, turn *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		artifact := a2a.NewArtifactEvent(turn, turn.Message.Parts...)
		artifact.LastChunk = true
		events := []a2a.Event{
			a2a.NewSubmittedTask(turn, turn.Message),
			a2a.NewStatusUpdateEvent(turn, a2a.TaskStateWorking, nil),
			artifact,
			a2a.NewStatusUpdateEvent(turn, a2a.TaskStateCompleted, nil),
		}
		for _, event := range events {
			if !yield(event, nil) {
				return
			}
		}
	}
}

func (echo) Cancel(_ context.Context, _ *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) {}
}

func main() {
	handler := a2asrv.NewHandler(echo{})
	mux := http.NewServeMux()
	mux.Handle("/jsonrpc", a2asrv.NewJSONRPCHandler(handler))
	mux.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(handler)))
	go func() { log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("HTTP_PORT"), mux)) }()

	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("GRPC_PORT"))
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	a2agrpc.NewHandler(handler).RegisterWith(server)
	log.Fatal(server.Serve(listener))
}
