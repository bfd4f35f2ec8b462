package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
)

// newcomersWait is how long a listener that accepts no newcomers still accepts connections that are nearly complete.
const newcomersWait = 100 * time.Millisecond

// httpServer serves the API on a listener.
type httpServer struct {
	*http.Server
	api      *server.API
	listener net.Listener
	drain    time.Duration
	timeout  time.Duration // for running requests, after the drain
	log      *slog.Logger
}

// serveUntil serves until ctx ends. Then it drains, accepts no new requests, and waits for running ones.
func (s *httpServer) serveUntil(ctx context.Context) error {
	result := make(chan error, 1)
	go func() {
		<-ctx.Done()
		result <- s.stop(context.WithoutCancel(ctx))
	}()
	s.log.Info("serving", "addr", s.listener.Addr().String(), "version", version)
	if err := s.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	if err := <-result; err != nil {
		return fmt.Errorf("some requests were cut off after %s: %w", s.timeout, errors.Join(err, s.Close()))
	}
	return nil
}

// stop drains the server and shuts it down. While it drains, it still serves requests, so that proxies can notice.
func (s *httpServer) stop(ctx context.Context) error {
	if s.drain > 0 {
		s.log.Info("draining", "for", s.drain.String())
		s.api.Drain()
		time.Sleep(s.drain)
		if err := node.StopAccepting(s.listener); err != nil {
			s.log.Warn("clients that connect at this moment may get an error", "reason", err)
		} else {
			time.Sleep(newcomersWait)
		}
	}
	s.log.Info("stopping", "timeout", s.timeout.String())
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.Shutdown(ctx)
}
