package server

import (
	"log/slog"
	"net/http"
	"testing"
)

func TestServer(t *testing.T) {
	c := Config{Addr: "127.0.0.1:1", ReadHeaderTimeout: 1, ReadTimeout: 2, WriteTimeout: 3, IdleTimeout: 4}
	srv := HTTPServer(c, http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	if srv.Addr != c.Addr || srv.ReadHeaderTimeout != 1 || srv.ReadTimeout != 2 || srv.WriteTimeout != 3 ||
		srv.IdleTimeout != 4 {
		t.Errorf("a timeout is not the configured one: %+v", srv)
	}
	if srv.MaxHeaderBytes+4<<10 != maxHeader {
		t.Errorf("net/http takes %d bytes of header, want %d", srv.MaxHeaderBytes+4<<10, maxHeader)
	}
}
